// What must hold at the end of a chaos run. The tool's own file is the oracle; each finding is one broken promise.
import type { CallReply } from '../../src/client/call-reply.ts'
import { type Intent, isDecided, lastTold, type Told } from './careful-client.ts'
import type { LogLine } from './effect-log.ts'
import { REPEATABLE } from './tool-kind.ts'

export interface Effects {
  readonly byIntent: ReadonlyMap<string, readonly LogLine[]>
  readonly bySerial: ReadonlyMap<number, LogLine>
  readonly count: number
  readonly arrivals: number
}

export function effectsOf(lines: readonly LogLine[]): Effects {
  const byIntent = new Map<string, LogLine[]>()
  const bySerial = new Map<number, LogLine>()
  const effects = lines.filter(({ kind }) => kind === 'effect')
  for (const line of effects) {
    byIntent.set(line.intent, [...(byIntent.get(line.intent) ?? []), line])
    bySerial.set(line.serial, line)
  }
  return {
    byIntent,
    bySerial,
    count: effects.length,
    arrivals: lines.filter(({ kind }) => kind === 'arrived').length,
  }
}

/** No effect twice, except where the declaration makes that harmless. */
export function duplicates(intents: readonly Intent[], effects: Effects): readonly string[] {
  return intents.flatMap(({ id, tool }) => {
    const found = effects.byIntent.get(id) ?? []
    if (found.length <= 1 || REPEATABLE.has(tool)) return []
    const sends = found.map(
      ({ key, attempt, serial }) => `attempt ${attempt} of ${key.slice(0, 8)} as ${serial}`,
    )
    return [`${tool} ${id}: ${found.length} effects: ${sends.join(', ')}`]
  })
}

/** One intent, one key at the tool: another would make every other check blind. */
export function strayKeys(lines: readonly LogLine[]): readonly string[] {
  const keys = new Map<string, string>()
  return lines.flatMap(({ intent, key }) => {
    if (intent === '') return []
    const first = keys.get(intent) ?? key
    keys.set(intent, first)
    return first === key ? [] : [`${intent}: sent under two keys, ${first} and ${key}`]
  })
}

/**
 * Once decided, everybody who asks after that is told the same. A read may be forgotten with its process (S34), and a call
 * that is turned away says nothing about the key.
 */
export function changed(intents: readonly Intent[]): readonly string[] {
  return intents.flatMap((intent) => {
    const decided = intent.told.find((told) => isDecided(told))
    if (decided === undefined || intent.tool === 'read') return []
    return intent.told
      .filter((later) => later.askedAt > decided.toldAt && !isTurnedAway(later))
      .filter((later) => !sameOutcome(decided, later))
      .map((later) => `${intent.tool} ${intent.id}: was told ${say(decided)}, then ${say(later)}`)
  })
}

/** Nothing was sent for this call, and it may ask again. */
function isTurnedAway({ attempt, failure, retryable }: Told): boolean {
  return retryable && (attempt === 0 || failure === 'intent-not-recorded')
}

/** What was told agrees with what the tool did. */
export function untrue(intents: readonly Intent[], effects: Effects): readonly string[] {
  return intents.flatMap((intent): string[] => {
    const last = lastTold(intent)
    if (last === undefined || intent.tool === 'read') return []
    const found = effects.byIntent.get(intent.id) ?? []
    const wrong = (what: string) => [`${intent.tool} ${intent.id}: told ${say(last)}, but ${what}`]
    if (last.effect === 'done' && found.length === 0) return wrong('the tool did nothing')
    if (last.final && last.effect === 'not-done' && found.length > 0) return wrong('the tool did it')
    return intent.told.flatMap((told) => {
      const serial = serialIn(told)
      if (serial === undefined) return []
      return effects.bySerial.get(serial)?.intent === intent.id
        ? []
        : [`${intent.tool} ${intent.id}: was given effect ${serial}, which is not its own`]
    })
  })
}

function serialIn({ output }: Told): number | undefined {
  const serial = (output as { effect?: unknown } | undefined)?.effect
  return typeof serial === 'number' ? serial : undefined
}

/** Everything is decided in the end. */
export function undecided(intents: readonly Intent[]): readonly string[] {
  return intents.flatMap((intent) => {
    const last = lastTold(intent)
    if (last === undefined) return [`${intent.tool} ${intent.id}: never answered`]
    return isDecided(last) ? [] : [`${intent.tool} ${intent.id}: still ${say(last)}`]
  })
}

/** Nothing here is refused for what it is: that would be a fault of the run, and hide others. */
export function refused(intents: readonly Intent[]): readonly string[] {
  return intents.flatMap((intent) =>
    intent.told
      .filter(({ state }) => state === 'invalid' || state === 'denied')
      .map((told) => `${intent.tool} ${intent.id}: ${say(told)}`),
  )
}

/**
 * A call that was told as final is shown as it was told. What is written behind may be lost with a process that was
 * killed (S34): reads, refusals before a send, and records of a replay.
 */
export function misshown(intent: Intent, told: Told, shown: CallReply | undefined): string | undefined {
  const about = `${intent.tool} ${intent.id}, call ${told.callId}`
  if (shown === undefined) {
    const behind = told.replayed || intent.tool === 'read' || told.attempt === 0 || isTurnedAway(told)
    return behind ? undefined : `${about}: told ${say(told)}, and no longer known`
  }
  const same =
    shown.state === told.state &&
    nothingIsNothing(shown.effect) === nothingIsNothing(told.effect) &&
    JSON.stringify(shown.output) === JSON.stringify(told.output)
  return same ? undefined : `${about}: told ${say(told)}, now ${shown.state} (effect ${shown.effect})`
}

/** That nothing was possible, and that nothing happened, are the same to whoever asked. */
function nothingIsNothing(effect: Told['effect']): Told['effect'] {
  return effect === 'none' ? 'not-done' : effect
}

function sameOutcome(one: Told, other: Told): boolean {
  return (
    one.state === other.state &&
    one.effect === other.effect &&
    JSON.stringify(one.output) === JSON.stringify(other.output)
  )
}

function say({ state, effect, failure, output, attempt, replayed }: Told): string {
  const parts = [
    `effect ${effect}`,
    `attempt ${attempt}`,
    ...(failure === undefined ? [] : [failure]),
    ...(replayed ? ['replayed'] : []),
    ...(output === undefined ? [] : [JSON.stringify(output)]),
  ]
  return `${state} (${parts.join(', ')})`
}
