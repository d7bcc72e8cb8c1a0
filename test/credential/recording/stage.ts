// Where a case plays: in front of a real server that is recorded, or of a recording of one. The case cannot tell which.
import type { Exchange, Facts, RecordedCase } from './recording.ts'

export interface Stage<S> {
  /** What the provider is to be given: something that records, or that replays. */
  readonly address: string
  /** Work for the end of the case, last first. */
  after(work: () => void | Promise<void>): void
  /** Changes something at the real server, or gives what came of it when it was recorded. */
  arrange<F extends Facts>(make: (server: S) => Promise<F>): Promise<F>
}

/** By what holds. Each asserts it itself, so that nothing else can be recorded. */
export type Cases<S> = Readonly<Record<string, (stage: Stage<S>) => Promise<void>>>

/** Plays one case with a real server. `taken` gives what has been exchanged since it was asked last. */
export async function recordCase<S>(
  play: Cases<S>[string],
  { server, address, taken }: { readonly server: S; readonly address: string; taken(): readonly Exchange[] },
): Promise<RecordedCase> {
  const facts: Facts[] = []
  await toItsEnd(play, address, async (make) => {
    const made = await make(server)
    facts.push(made)
    return made
  })
  return { facts, exchanges: taken() }
}

/** Plays one case with a recording. */
export async function replayCase<S>(
  play: Cases<S>[string],
  { facts }: RecordedCase,
  address: string,
): Promise<void> {
  const left = [...facts]
  await toItsEnd(play, address, async <F extends Facts>() => {
    const made = left.shift()
    if (made === undefined) throw new Error('the case arranges more than was recorded')
    // The same call made them when it was recorded.
    return made as F
  })
  if (left.length > 0)
    throw new Error(`the case left out ${left.length} of the arrangements that were recorded`)
}

async function toItsEnd<S>(
  play: Cases<S>[string],
  address: string,
  arrange: Stage<S>['arrange'],
): Promise<void> {
  const ends: (() => void | Promise<void>)[] = []
  try {
    await play({ address, arrange, after: (work) => void ends.unshift(work) })
  } finally {
    for (const end of ends) await end()
  }
}
