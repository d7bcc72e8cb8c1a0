// How approvals are shown to whoever decides them, and the exit code that says how one stands.
import type { ApprovalNeedShown, ApprovalResource, InputChange } from '../client/approvals.ts'
import type { ApprovalState } from '../contract/approval.ts'
import type { Json } from '../util/json.ts'
import { diffJson } from '../util/json-diff.ts'
import { EXIT } from './cli-error.ts'
import { type Column, clean, renderAge, renderFields, type Style } from './print.ts'

/** S32: what was agreed to worked, what was not is denied. */
export const EXIT_OF_APPROVAL: Readonly<Record<ApprovalState, number>> = Object.freeze({
  pending: EXIT.waiting,
  approved: EXIT.ok,
  used: EXIT.ok,
  denied: EXIT.denied,
  expired: EXIT.denied,
  stale: EXIT.denied,
  canceled: EXIT.canceled,
})

export function approvalColumns(now: number): readonly Column<ApprovalResource>[] {
  return [
    { title: 'ID', value: ({ id }) => id },
    { title: 'STATE', value: ({ state }) => state },
    { title: 'TOOL', value: ({ tool }) => tool.name },
    { title: 'OPERATION', value: ({ tool }) => tool.operation },
    { title: 'RISK', value: ({ risk_level }) => risk_level },
    { title: 'REQUESTER', value: ({ requester }) => requester.actor },
    { title: 'NEEDS', value: ({ needs }) => needs.map(needText).join(' and ') },
    { title: 'LEFT', value: (approval) => leftText(approval, now) },
    { title: 'REASON', value: ({ reasons }) => reasons.join('; ') },
  ]
}

export function renderApproval(approval: ApprovalResource, now: number, style: Style): string {
  const { requester, agent, tool, decisions, delegations } = approval
  const fields = renderFields([
    ['Id', approval.id],
    ['State', `${approval.state}${approval.why === undefined ? '' : `: ${approval.why}`}`],
    ['Requester', `${requester.actor} (${requester.kind})${agent === undefined ? '' : `, for ${agent}`}`],
    ['Task', approval.task_id],
    ['Tool', `${tool.name} ${tool.version}`],
    ['Operation', `${tool.operation} (${approval.operation_classes.join(', ')})`],
    ['Risk', `${approval.risk_level}, ${approval.effect_class}`],
    ['Why', lines(approval.reasons)],
    ['Rules', lines(approval.rules.map(({ policy_id, rule }) => `${policy_id} ${rule}`))],
    ['Needs', lines(approval.needs.map(needText))],
    ['Decided', lines(decisions.map(decisionText))],
    ['Delegated', lines(delegations.map(({ from, to, at }) => `${from} to ${to}, ${at}`))],
    ['Expires', `${approval.expires_at} (${leftText(approval, now)})`],
    ['Call', approval.call_id],
    ['Payload', approval.payload_hash],
  ])
  const { input, asked, diff } = approval
  return [
    fields,
    section('Input', input, style),
    ...(asked === undefined
      ? []
      : [`\n${style.bold('Narrowed by policy')}\n${renderChanges(diffJson(asked, input), style)}`]),
    ...(diff === undefined
      ? []
      : [
          `\n${style.bold('Against the last one that was agreed to')} ${clean(`(${diff.approval_id}, ${diff.at})`)}\n`,
          renderChanges(diff.changes, style),
        ]),
    ...(approval.state === 'pending' ? [`\n${waysToDecide(approval.id)}`] : []),
  ].join('')
}

export function waysToDecide(id: string): string {
  const name = clean(id)
  return `  writ approve ${name} [--comment TEXT]\n  writ deny ${name} --reason TEXT\n`
}

function section(title: string, value: Json | undefined, style: Style): string {
  const text = value === undefined ? '(none, or no longer kept)' : JSON.stringify(value, null, 2)
  return `\n${style.bold(title)}\n${clean(text)}\n`
}

/** As a patch is read: what is new after a plus, what is gone after a minus. */
export function renderChanges(changes: readonly InputChange[], style: Style): string {
  if (changes.length === 0) return 'the same\n'
  return changes
    .flatMap(({ path, from, to }) => [
      ...(from === undefined
        ? []
        : [style.bad(`- ${clean(`${path || '(input)'}: ${JSON.stringify(from)}`)}`)]),
      ...(to === undefined ? [] : [style.good(`+ ${clean(`${path || '(input)'}: ${JSON.stringify(to)}`)}`)]),
    ])
    .map((line) => `${line}\n`)
    .join('')
}

function needText({ role, quorum, escalated }: ApprovalNeedShown): string {
  const who = role === undefined ? (quorum === 1 ? 'approver' : 'approvers') : `of ${role}`
  return `${quorum} ${who}${escalated === true ? ' (escalated)' : ''}`
}

function decisionText(one: ApprovalResource['decisions'][number]): string {
  const behalf = one.on_behalf_of === undefined ? '' : ` for ${one.on_behalf_of}`
  const said = one.comment === undefined ? '' : `: ${one.comment}`
  return `${one.decision} by ${one.decided_by}${behalf}, ${one.at}, ${one.via}${said}`
}

function leftText({ state, expires_at }: ApprovalResource, now: number): string {
  if (state !== 'pending') return '-'
  const left = Date.parse(expires_at) - now
  return left <= 0 ? 'over' : `${renderAge(left)} left`
}

function lines(list: readonly string[]): string | undefined {
  return list.length === 0 ? undefined : list.join('\n')
}
