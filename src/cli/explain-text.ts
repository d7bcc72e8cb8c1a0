// Why a call would be decided as it would, for people: what matched, what nearly did, and what would have to change.
import { type ExplainedDecision, type Governing, nameOf } from '../contract/explanation.ts'
import { clean, renderTable, type Style } from './print.ts'

export interface ShownExplanation {
  readonly decision: ExplainedDecision
  readonly governing?: Governing
  readonly changes: readonly string[]
}

export function renderDecision({ decision }: ShownExplanation, style: Style): string {
  const paint =
    decision === 'allow' || decision === 'transform'
      ? style.good
      : decision === 'deny' || decision === 'error'
        ? style.bad
        : style.warn
  return `Decision: ${paint(decision)}\n`
}

/** Empty where no rule was asked and nothing has to change. */
export function renderGoverning({ governing, changes }: ShownExplanation, style: Style): string {
  const blocks = governing === undefined ? [] : blocksOf(governing, style)
  if (changes.length > 0) {
    const lines = changes.map((change) => `  ${clean(change)}\n`)
    blocks.push(`${style.bold('What would have to change')}\n${lines.join('')}`)
  }
  return blocks.map((block) => `\n${block}`).join('')
}

function blocksOf(
  { matched, near, near_unchecked = 0, narrowed, budgets }: Governing,
  style: Style,
): string[] {
  const blocks: string[] = []
  const enforced = matched.filter(({ monitored }) => monitored !== true)
  const monitored = matched.filter((match) => match.monitored === true)
  const columns = [
    { title: 'DECISION', value: (match: Governing['matched'][number]) => match.decision },
    { title: 'RULE', value: nameOf },
    { title: 'VERSION', value: (match: Governing['matched'][number]) => match.policy_version },
    { title: 'CODE', value: (match: Governing['matched'][number]) => match.code },
    { title: 'REASON', value: (match: Governing['matched'][number]) => match.reason },
  ]
  const plain: Style = { ...style, bold: (text) => text }
  const block = (title: string, table: string) => blocks.push(`${style.bold(title)}\n${indent(table)}`)
  block('Matched', renderTable(enforced, columns, plain, 'No rule.'))
  if (monitored.length > 0) block('Only monitored: it would have', renderTable(monitored, columns, plain, ''))
  if (near.length + near_unchecked > 0) {
    block(
      'One clause away',
      `${renderTable(
        near,
        [
          { title: 'DECISION', value: ({ decision }) => decision },
          { title: 'RULE', value: nameOf },
          { title: 'VERSION', value: ({ policy_version }) => policy_version },
          { title: 'WOULD MATCH IF', value: ({ missed }) => missed },
        ],
        plain,
        'No rule that was looked at.',
      )}${unchecked(near_unchecked)}`,
    )
  }
  if (narrowed.length > 0) {
    const rows = narrowed.map((one) => `${nameOf(one)}: ${one.kind} ${one.field}`.trimEnd())
    block('Narrowed', `${rows.map(clean).join('\n')}\n`)
  }
  if (budgets.length > 0) {
    const rows = budgets.map(
      ({ budget, amount, max, resets_at }) => `${budget}: ${amount} of ${max}, until ${resets_at}`,
    )
    block('Budgets', `${rows.map(clean).join('\n')}\n`)
  }
  return blocks
}

function unchecked(count: number): string {
  if (count === 0) return ''
  return `${count} more Cedar ${count === 1 ? 'policy was' : 'policies were'} not looked at: there are too many\n`
}

export function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ')
}
