// How sagas are shown, and the exit code that says how one stands.
import type { SagaResource } from '../client/effects.ts'
import { isInQuestion } from '../contract/entry.ts'
import type { SagaState } from '../contract/saga.ts'
import { EXIT } from './cli-error.ts'
import { clean, renderFields, renderTable, type Style } from './print.ts'

/** S32: open, aborting and blocked wait for something; aborted is what was asked for by no member. */
export const EXIT_OF_SAGA: Readonly<Record<SagaState, number>> = Object.freeze({
  open: EXIT.waiting,
  aborting: EXIT.waiting,
  blocked: EXIT.waiting,
  completed: EXIT.ok,
  aborted: EXIT.canceled,
})

export function renderSaga(saga: SagaResource, style: Style): string {
  const fields = renderFields([
    ['Id', saga.id],
    ['State', saga.state],
    ['Reason', saga.reason],
    ['Actor', saga.actor],
    ['Namespace', saga.namespace],
    ['Created', saga.created_at],
    ['Ended', saga.ended_at],
  ])
  const members = renderTable(
    saga.members,
    [
      { title: 'CALL', value: ({ call_id }) => call_id },
      { title: 'TOOL', value: ({ tool }) => tool.name },
      { title: 'OPERATION', value: ({ tool }) => tool.operation },
      { title: 'STATE', value: ({ state }) => state },
      { title: 'UNDONE BY', value: ({ compensation_call_id }) => compensation_call_id ?? '-' },
    ],
    style,
    'No members yet.',
  )
  const ways = waysOut(saga)
  return `${fields}\n${members}${ways === '' ? '' : `\n${ways}`}`
}

/** A blocked saga waits for a person: everything that one can do about it. Empty for every other. */
export function waysOut({ id, state, members }: SagaResource): string {
  if (state !== 'blocked') return ''
  const settle = members
    .filter(isInQuestion)
    .map(({ call_id }) => [
      `writ calls settle ${call_id} --as done|not-done --reason TEXT`,
      'first: whether this one happened',
    ])
  const lines = [
    ...settle,
    [`writ saga abort ${id}`, 'undo the rest; what could not be undone is tried again'],
    [`writ saga complete ${id}`, 'leave it as it is: what was done stays'],
    [`writ saga open ${id}`, 'let it go on and take calls again'],
  ]
  const width = Math.max(...lines.map(([line = '']) => line.length))
  const text = lines.map(([line = '', does = '']) => `  ${line.padEnd(width)}  ${does}`)
  return clean(`It waits for a person:\n${text.join('\n')}\n`)
}
