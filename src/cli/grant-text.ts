// How grants are shown: a class of calls that somebody has agreed to beforehand.
import type { GrantCondition, GrantResource } from '../client/approvals.ts'
import { type Column, renderAge } from './print.ts'

export function grantColumns(now: number): readonly Column<GrantResource>[] {
  return [
    { title: 'ID', value: ({ id }) => id },
    { title: 'TOOL', value: ({ tool }) => tool.name },
    { title: 'OPERATION', value: ({ tool }) => tool.operation },
    {
      title: 'WHERE',
      value: ({ when }) => (when.length === 0 ? '-' : when.map(conditionText).join(' and ')),
    },
    { title: 'CALLER', value: ({ caller }) => caller ?? '-' },
    { title: 'USES', value: ({ uses, max_uses }) => usesText(uses, max_uses) },
    { title: 'LEFT', value: ({ expires_at }) => renderAge(Date.parse(expires_at) - now) },
    { title: 'BY', value: ({ by }) => by },
  ]
}

const SIGNS: Readonly<Record<string, string>> = Object.freeze({
  lt: '<',
  lte: '<=',
  gt: '>',
  gte: '>=',
  eq: '=',
  ne: '!=',
})

export function conditionText({ field, op, value }: GrantCondition): string {
  const shown = value === undefined ? '' : JSON.stringify(value)
  const sign = SIGNS[op]
  return sign === undefined ? `${field} ${op} ${shown}`.trimEnd() : `${field}${sign}${shown}`
}

function usesText(uses: number | undefined, max: number | undefined): string {
  if (max === undefined) return uses === undefined ? '-' : String(uses)
  return uses === undefined ? `of ${max}` : `${uses} of ${max}`
}
