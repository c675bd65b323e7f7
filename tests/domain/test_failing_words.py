import pickle

from preceptor.domain.errors import Conflict, Invalid, phrased


def test_a_failure_says_plain_text_whatever_its_sentence_remembers():
    """What is plain can be stored: a sentence that remembers its facts could not be written into the log."""
    for failure in (Invalid(phrased("%(name)s is none.", name="x")), Conflict(phrased("There is one."))):
        assert type(str(failure)) is str
        assert str(pickle.loads(pickle.dumps(failure))) == str(failure)
