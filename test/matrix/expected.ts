// What each effect class must answer when its tool fails at each moment: the table S22 with S16, S23 and S24, by hand.
import type { CallState } from '../../src/contract/answer.ts'
import type { EffectState } from '../../src/contract/effect.ts'
import type { Moment } from './peer.ts'

export const CLASSES = [
  'pure',
  'natural',
  'keyed',
  'queryable',
  'fencing',
  'unqueryable',
  'undeclared',
  'two-phase',
] as const
export type EffectKind = (typeof CLASSES)[number]

/** The answer, and what the tool's side has seen by then: requests, and effects (prepares of a two-phase tool). */
export type Cell = readonly [
  state: CallState,
  effect: EffectState,
  retryable: boolean,
  sends: number,
  effects: number,
]

export interface Row {
  /** One attempt is allowed. */
  readonly once: Cell
  /** The same key again, once the tool is well and everything that settles by itself is settled. */
  readonly again: Cell
  /** Two attempts are allowed, and the tool fails the first: what is sent again by itself. */
  readonly twice: Cell
}

// Nothing was sent, so every class may be sent again, and nothing is remembered (S16, S22).
const notSent = (effect: EffectState, well: Cell): Row => ({
  once: ['failed', effect, true, 0, 0],
  again: well,
  twice: well,
})

// Held until somebody settles it: asked again, it is still unknown, and is not sent (S16, S22).
const heldWith = (effects: number): Row => ({
  once: ['unknown', 'unknown', false, 1, effects],
  again: ['unknown', 'unknown', false, 1, effects],
  twice: ['unknown', 'unknown', false, 1, effects],
})

// A read does nothing, so it may be sent again whatever became of the first one.
const read = (state: CallState): Row => ({
  once: [state, 'none', true, 1, 0],
  again: ['succeeded', 'none', false, 2, 0],
  twice: ['succeeded', 'none', false, 2, 0],
})

// A repeat is harmless: it is sent again with the same bytes, and its answer settles both.
const harmless = (state: CallState, first: number, total: number): Row => ({
  once: [state, 'unknown', true, 1, first],
  again: ['succeeded', 'done', false, 2, total],
  twice: ['succeeded', 'done', false, 2, total],
})

// `prepare` is as keyed; what is prepared is no end, but an open state.
const prepare = (state: CallState, first: number): Row => ({
  once: [state, 'unknown', true, 1, first],
  again: ['prepared', 'prepared', false, 2, 1],
  twice: ['prepared', 'prepared', false, 2, 1],
})

// The tool says `done`, and that settles it; nothing is sent again.
const asked: Row = {
  once: ['succeeded', 'done', false, 1, 1],
  again: ['succeeded', 'done', false, 1, 1],
  twice: ['succeeded', 'done', false, 1, 1],
}

export const EXPECTED: Readonly<Record<EffectKind, Readonly<Record<Moment, Row>>>> = {
  pure: {
    'before send': notSent('none', ['succeeded', 'none', false, 1, 0]),
    'after send': read('failed'),
    'after effect': read('failed'),
    'after reply': read('failed'),
    late: read('timed-out'),
  },
  natural: {
    'before send': notSent('not-done', ['succeeded', 'done', false, 1, 1]),
    'after send': harmless('failed', 0, 1),
    'after effect': harmless('failed', 1, 2),
    'after reply': harmless('failed', 1, 2),
    late: harmless('timed-out', 1, 2),
  },
  keyed: {
    'before send': notSent('not-done', ['succeeded', 'done', false, 1, 1]),
    'after send': harmless('failed', 0, 1),
    'after effect': harmless('failed', 1, 1),
    'after reply': harmless('failed', 1, 1),
    late: harmless('timed-out', 1, 1),
  },
  queryable: {
    'before send': notSent('not-done', ['succeeded', 'done', false, 1, 1]),
    // `not_done` is believed only when the quiet time after the deadline of the attempt has passed.
    'after send': {
      once: ['unknown', 'unknown', false, 1, 0],
      again: ['succeeded', 'done', false, 2, 1],
      twice: ['unknown', 'unknown', false, 1, 0],
    },
    'after effect': asked,
    'after reply': asked,
    // It still runs while the call has time to ask; later it is done.
    late: {
      once: ['unknown', 'unknown', false, 1, 1],
      again: ['succeeded', 'done', false, 1, 1],
      twice: ['unknown', 'unknown', false, 1, 1],
    },
  },
  fencing: {
    'before send': notSent('not-done', ['succeeded', 'done', false, 1, 1]),
    // `not_done` is believed at once: whatever of this send still arrives is kept out.
    'after send': {
      once: ['failed', 'not-done', true, 1, 0],
      again: ['succeeded', 'done', false, 2, 1],
      twice: ['succeeded', 'done', false, 2, 1],
    },
    'after effect': asked,
    'after reply': asked,
    // No time is left to ask with one attempt; the request that is held meanwhile is fenced off when it is asked for.
    late: {
      once: ['unknown', 'unknown', false, 1, 0],
      again: ['succeeded', 'done', false, 2, 1],
      twice: ['succeeded', 'done', false, 2, 1],
    },
  },
  unqueryable: {
    'before send': notSent('not-done', ['succeeded', 'done', false, 1, 1]),
    'after send': heldWith(0),
    'after effect': heldWith(1),
    'after reply': heldWith(1),
    late: heldWith(1),
  },
  undeclared: {
    'before send': notSent('not-done', ['succeeded', 'done', false, 1, 1]),
    'after send': heldWith(0),
    'after effect': heldWith(1),
    'after reply': heldWith(1),
    late: heldWith(1),
  },
  'two-phase': {
    'before send': notSent('not-done', ['prepared', 'prepared', false, 1, 1]),
    'after send': prepare('failed', 0),
    'after effect': prepare('failed', 1),
    'after reply': prepare('failed', 1),
    late: prepare('timed-out', 1),
  },
}
