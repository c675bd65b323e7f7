"""One name per kind of identifier, so that two kinds are never swapped."""

from typing import NewType

OrgId = NewType("OrgId", str)
UserId = NewType("UserId", str)
GroupId = NewType("GroupId", str)
KeyId = NewType("KeyId", str)
AgentId = NewType("AgentId", str)
FamilyId = NewType("FamilyId", str)
InstructionId = NewType("InstructionId", str)
AssignmentId = NewType("AssignmentId", str)
ConversationId = NewType("ConversationId", str)
TurnId = NewType("TurnId", str)
StreamId = NewType("StreamId", str)
MessageId = NewType("MessageId", str)
SpanId = NewType("SpanId", str)
CallId = NewType("CallId", str)
ViewId = NewType("ViewId", str)
AttachmentId = NewType("AttachmentId", str)
ExperimentId = NewType("ExperimentId", str)
TaskId = NewType("TaskId", str)
"""Of something that goes on by itself: an execution or a replay."""
