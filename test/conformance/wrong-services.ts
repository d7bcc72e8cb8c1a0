// Services that are wrong in one way each, and the requirements that they break.
import type { RequirementId } from '../../src/conformance/requirements.ts'
import { failed, ok, type Twist } from './service.ts'

export interface WrongService {
  readonly what: string
  readonly breaks: readonly RequirementId[]
  /** Made anew for each run: some remember. */
  twist(): Twist
}

export const WRONG_SERVICES: readonly WrongService[] = [
  {
    what: 'answers with another request_id',
    breaks: ['C1.3'],
    twist: () => async (_asked, honest) => ({ ...(await honest()), request_id: 'somebody-elses' }),
  },
  {
    what: 'leaves the request_id out',
    breaks: ['C1.3'],
    twist: () => async (_asked, honest) => {
      const { request_id: _, ...rest } = await honest()
      return rest
    },
  },
  {
    what: 'answers in another version of the contract',
    breaks: ['C1.1'],
    twist: () => async (_asked, honest) => ({ ...(await honest()), tool_contract_version: 'v2' }),
  },
  {
    what: 'says retryable as text',
    breaks: ['C1.4'],
    twist: () => async (asked, honest) =>
      asked.tool.operation === 'fail'
        ? failed(asked, String(asked.input.code), String(asked.input.retryable))
        : honest(),
  },
  {
    what: 'answers with a success and an error at once',
    breaks: ['C1.4'],
    twist: () => async (asked) => ({ ...failed(asked, 'execution_failed', false), status: 'ok', output: {} }),
  },
  {
    what: 'answers with a page for people',
    breaks: ['C1.4'],
    twist: () => async () => '<!doctype html><title>Welcome</title>',
  },
  {
    what: 'answers with an output that nobody asked for',
    breaks: ['C1.4', 'C6.1', 'C8.3'],
    twist: () => async (asked, honest) =>
      asked.tool.operation === 'echo' ? ok(asked, { text: 'always the same' }) : honest(),
  },
  {
    what: 'never ends',
    breaks: ['C2.1'],
    twist: () => async () => 'nothing',
  },
  {
    what: 'never ends a sleep',
    breaks: ['C2.1'],
    twist: () => async (asked, honest) => (asked.tool.operation === 'sleep' ? 'nothing' : honest()),
  },
  {
    what: 'does not sleep',
    breaks: ['C2.1', 'C2.2'],
    twist: () => async (asked, honest) =>
      asked.tool.operation === 'sleep' ? ok(asked, { slept_ms: asked.input.ms }) : honest(),
  },
  {
    what: 'says of each failure that it may be retried',
    breaks: ['C3.1', 'C3.4', 'C4.3'],
    twist: () => async (asked, honest) =>
      asked.tool.operation === 'fail' ? failed(asked, String(asked.input.code), true) : honest(),
  },
  {
    what: 'forgets the keys it has seen',
    breaks: ['C8.1'],
    twist: () => {
      const counts = new Map<string, number>()
      return async (asked, honest) => {
        if (asked.tool.operation !== 'count') return honest()
        const count = (counts.get(asked.idempotency_key) ?? 0) + 1
        counts.set(asked.idempotency_key, count)
        return ok(asked, { count })
      }
    },
  },
  {
    what: 'counts without looking at the key',
    breaks: ['C8.1'],
    twist: () => {
      let count = 0
      return async (asked, honest) =>
        asked.tool.operation === 'count' ? ok(asked, { count: ++count }) : honest()
    },
  },
]
