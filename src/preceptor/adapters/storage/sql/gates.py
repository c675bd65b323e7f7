"""The statements of `gates.py` one folder up."""

from sqlalchemy import bindparam, delete, select

from preceptor.adapters.storage.sql.building import compiled, insert_into, mine
from preceptor.adapters.storage.task_tables import gate_verdicts as verdicts
from preceptor.adapters.storage.task_tables import label_gates as gates

ADD = insert_into(gates)
_GATE = (mine(gates), gates.c.family == bindparam("of"), gates.c.name == bindparam("named"))
FIND = compiled(select(gates.c.body).where(*_GATE))
REMOVE = compiled(delete(gates).where(*_GATE))
_VERDICTS = (mine(verdicts), verdicts.c.family == bindparam("of"), verdicts.c.name == bindparam("named"))
_VERDICT = (*_VERDICTS, verdicts.c.instruction == bindparam("about"))
ADD_VERDICT = insert_into(verdicts)
VERDICT = compiled(select(verdicts.c.body).where(*_VERDICT))
VERDICTS = compiled(select(verdicts.c.body).where(*_VERDICTS).order_by(verdicts.c.instruction))
FORGET_VERDICT = compiled(delete(verdicts).where(*_VERDICT))
FORGET_VERDICTS = compiled(delete(verdicts).where(*_VERDICTS))
