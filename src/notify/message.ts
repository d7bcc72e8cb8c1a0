// What a person is told about an approval, whichever way it goes out: who, what, why and until when.
import type { Approval } from '../contract/approval.ts'
import type { ApprovalEvent, ApprovalNews } from '../contract/approval-event.ts'
import type { Payload } from '../contract/entry.ts'
import { visibleLine, visibleText } from './visible.ts'

/** All of it is text, and safe only where it is put as text: nothing here is markup. */
export interface Message {
  readonly title: string
  readonly facts: readonly (readonly [label: string, value: string])[]
  readonly reasons: readonly string[]
  /** What would be sent, masked; undefined where it is erased. */
  readonly input: string | undefined
  /** What was asked for, where policy made something narrower of it. */
  readonly asked: string | undefined
}

const MOST_NAME = 200
const MOST_REASON = 500
/** More than any tool that people decide about takes; the page of a link shows all of it. */
const MOST_INPUT = 200_000

const TITLES: Readonly<Record<ApprovalEvent, string>> = {
  'approval.requested': 'Approval needed',
  'approval.voted': 'One more has decided',
  'approval.delegated': 'Handed to somebody else',
  'approval.approved': 'Approved',
  'approval.used': 'Approved and sent',
  'approval.denied': 'Denied',
  'approval.expired': 'Nobody decided in time',
  'approval.stale': 'No longer what was asked about',
  'approval.canceled': 'Canceled while it waited',
}

export function messageOf({ type, approval }: ApprovalNews): Message {
  const { tool, operation } = approval.binding
  return { ...describe(approval), title: line(`${TITLES[type]}: ${tool} ${operation}`) }
}

/** The same for the page that a link opens. */
export function describe(approval: Approval): Omit<Message, 'title'> {
  const { binding, agent, taskId } = approval
  const classes = approval.operationClasses.join(', ')
  const facts: (readonly [string, string] | undefined)[] = [
    ['Tool', `${binding.tool} ${binding.version}`],
    ['Operation', `${binding.operation}${classes === '' ? '' : ` (${classes})`}`],
    ['Risk', `${approval.riskLevel}, effect ${approval.effectClass}`],
    ['Asked by', `${approval.requester} (${approval.requesterKind})`],
    agent === undefined ? undefined : ['Agent', agent],
    taskId === undefined ? undefined : ['Task', taskId],
    ['Namespace', approval.namespace],
    ['Needs', approval.needs.map(needText).join('; ')],
    ...approval.decisions.map(
      ({ decision, by, comment }) =>
        [decision === 'approved' ? 'Approved by' : 'Denied by', comment ? `${by}: ${comment}` : by] as const,
    ),
    approval.why === undefined ? undefined : ['Why', approval.why],
    ['Until', new Date(approval.expiresAt).toISOString()],
    ['Approval', approval.id],
  ]
  return {
    facts: facts.flatMap((fact) => (fact === undefined ? [] : [[fact[0], line(fact[1])] as const])),
    reasons: approval.reasons.map((reason) => visibleLine(reason, MOST_REASON)),
    input: textOf(approval.shown),
    asked: textOf(approval.asked),
  }
}

function needText({ role, quorum, escalated }: Approval['needs'][number]): string {
  const who = role === undefined ? 'of those who may decide' : `with the role ${role}`
  return `${quorum} ${who}${escalated ? ', escalated' : ''}`
}

function textOf(payload: Payload | undefined): string | undefined {
  if (payload === undefined) return undefined
  if (!('inline' in payload)) return `${payload.bytes} bytes of ${payload.mediaType}`
  return visibleText(JSON.stringify(payload.inline, null, 2), MOST_INPUT)
}

function line(text: string): string {
  return visibleLine(text, MOST_NAME)
}
