// Why governance answered as it did: constants that programs can rely on, each with a sentence. Codes are never reused.

export const REASON_CODES = {
  permitted: 'The caller holds every permission that the tool asks for.',
  'permission-missing': 'The caller lacks a permission that the tool, or a ToolPermission for it, asks for.',
  'role-missing':
    'The caller names a role that does not exist, or that inherits from one that does not exist.',
  'actor-mismatch': 'The call names an agent or an actor that its caller may not speak for.',
  frozen: 'An operator has stopped the tool, the caller, the namespace or everything.',
  'token-revoked': 'The token that the call was made with was revoked.',
  'operation-allowed': 'An operation rule of a ToolPermission allows this class of operations.',
  'operation-approval':
    'An operation rule of a ToolPermission asks for approval of this class of operations.',
  'operation-denied': 'An operation rule of a ToolPermission denies this class of operations.',
  'tool-blocked': 'An AgentPolicy blocks the tool.',
  'policy-allowed': 'A rule of an AgentPolicy allows the call.',
  'policy-approval': 'A rule of an AgentPolicy asks for approval.',
  'policy-escalated': 'A rule of an AgentPolicy hands the call to a specialist.',
  'policy-denied': 'A rule of an AgentPolicy denies the call.',
  'cedar-permitted': 'A Cedar permit matches the call.',
  'cedar-not-permitted': 'The Cedar text of an AgentPolicy permits some calls, and this is none of them.',
  'cedar-approval': 'A Cedar policy asks for approval.',
  'cedar-escalated': 'A Cedar policy hands the call to a specialist.',
  'cedar-denied': 'A Cedar policy forbids the call.',
  'cedar-unjudged':
    'A Cedar policy reads a value of the input that Cedar cannot hold: too large, or too many digits.',
  'cedar-failed': 'A Cedar policy in monitor mode could not be evaluated.',
  'policy-changed': 'What governs the call has changed since its first attempt, or since it was prepared.',
  'approval-trigger': 'An approval trigger of the tool fires for this input.',
  'compensation-approval': 'Undoing the effect needs approval.',
  'effect-repeated': 'The call would repeat an effect, and the tool has repeats approved.',
  'approval-rule-missing':
    'The effect cannot be undone, is financial or administrative, and neither an approval rule nor a waiver is there for it.',
  'input-clamped': 'A transform moved a number into its bounds.',
  'input-dropped': 'A transform removed a field.',
  'dry-run-only': 'A transform turned the call into a dry run.',
  'transform-unjudged': 'A transform has to bound something that is no number.',
  'transform-conflict': 'Transforms bound the same field in ways that exclude each other.',
  'budget-unjudged': 'What a budget counts is missing, negative, too large or no number.',
  'budget-exceeded': 'The call alone is more than a budget has for a whole period.',
  'budget-spent': 'A budget has less left in this period than the call takes.',
  'output-withheld': 'What the tool returns is classified above the clearance of the caller.',
  'approval-self': 'Whoever asked, or the agent that was asked for, decides nothing about its own call.',
  'approver-agent': 'Agents decide no approvals.',
  'approver-unqualified': 'The decider has neither the role that is asked for nor the permission to decide.',
  'approver-decided': 'Whoever decides, or is decided for, has decided already.',
} as const satisfies Readonly<Record<string, string>>

export type ReasonCode = keyof typeof REASON_CODES
