// What becomes of a request on its way, as the weather of a run and its seed have it.
import type { Send } from './history.ts'
import type { Weather } from './plan.ts'
import type { Random } from './random.ts'
import { LATE_MS } from './sim-tool.ts'

export interface Fate {
  readonly refused: boolean
  /** 0: on a connection that is open already, in the tick of the dispatch. */
  readonly connectMs: number
  readonly uploadMs: number
  readonly lost: boolean
  /** Whether an abort overtakes a request that is still on its way. */
  readonly abortStops: boolean
  readonly workMs: number
  readonly reply: 'whole' | 'slow' | 'cut' | 'reset' | 'lost'
  readonly replyMs: number
}

/** Depends on the call and the attempt alone, so that it stays the same when other calls are taken out. */
export function fateOf(weather: Weather, random: Random, send: Send): Fate {
  const dice = random.fork('send', ...idOf(send))
  const short = () => dice.int(0, weather.latencyMs)
  const lateMs = send.tool.lateMs ?? LATE_MS
  const least = Math.min(200, lateMs)
  // Not longer than the tool has promised: its `quiet` is about that.
  const maybeLong = () => Math.min(lateMs, dice.chance(weather.late) ? dice.int(least, lateMs) : short())
  return {
    refused: dice.chance(weather.refused),
    connectMs: dice.chance(0.5) ? 0 : maybeLong(),
    uploadMs: maybeLong(),
    lost: dice.chance(weather.lost),
    abortStops: dice.chance(0.5),
    workMs: maybeLong(),
    reply: dice.chance(weather.replyLost)
      ? dice.pick(['reset', 'lost'])
      : dice.chance(weather.cut)
        ? 'cut'
        : dice.chance(weather.slow)
          ? 'slow'
          : 'whole',
    replyMs: maybeLong(),
  }
}

/** What makes a request another one than all others of its run. */
export function idOf({ kind, call, record, attempt }: Send): (string | number)[] {
  if (kind === 'call' && record === call.record) return [call.name, attempt, call.sends.length]
  return [kind, call.name, attempt, record.tool.name, record.errands.length, record.sends.length]
}
