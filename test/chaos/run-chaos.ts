// One chaos run: load, incidents, calm, a person who settles what nobody else can, and then the checks.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Random } from '../sim/random.ts'
import { CarefulClient, type Intent, isDecided, lastTold } from './careful-client.ts'
import { brokenChain, evidenceOf } from './chain.ts'
import { readEffectLog } from './effect-log.ts'
import * as find from './findings.ts'
import { type ChaosReport, countUnknowns } from './report.ts'
import { type Incident, planIncidents, type StoreKind } from './schedule.ts'
import { type Stack, startStack } from './stack.ts'
import { HOLD_MS, NEEDS_PERSON } from './tool-kind.ts'

export interface ChaosOptions {
  readonly store: StoreKind
  readonly rounds: number
  readonly seed: string
  /** Calls at a time. */
  readonly clients: number
  /** How long unknowns may take to be settled once everything is calm. */
  readonly patienceMs: number
  /** Hears what goes on. */
  readonly say: (line: string) => void
}

/** At a time, while everything is calm. */
const CALM_CLIENTS = 16
/** Findings of each kind that evidence is looked up for. */
const BLAMED = 3

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { store, rounds, seed } = options
  const folder = mkdtempSync(join(tmpdir(), 'writ-chaos-'))
  const random = new Random(`chaos-${seed}-${store}`)
  const lost: string[] = []
  const began = performance.now()
  const stack = await startStack({
    store,
    folder,
    seed,
    onLost: (error) => lost.push(String(error)),
  }).catch((error: unknown) => {
    rmSync(folder, { recursive: true, force: true })
    throw error
  })
  // A run that is ended from outside leaves nothing behind, either.
  const onExit = () => {
    for (const victim of stack.victims.values()) victim.killNow()
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', onExit)
  try {
    const client = new CarefulClient(stack.servers, random.fork('client'))
    let over = false
    const loading = client.load(options.clients, () => over)
    loading.catch(() => {
      // Told below, where it is awaited.
    })
    await makeTrouble(stack, planIncidents(store, rounds, random.fork('plan')), options.say)
    over = true
    await loading
    options.say(`${rounds} incidents are over; everything is let calm down`)
    await stack.calm()
    await sleep(HOLD_MS)
    // One that was frozen past its lease may have noticed only now, and be on its way back.
    for (const victim of stack.victims.values()) await victim.start()
    const unknown = countUnknowns(client.intents)
    await decideAll(client, stack, options)
    const findings = await findAll(client, stack, lost)
    const evidence = await evidenceOf(stack, blamed(client.intents, findings))
    await stack.stopServers()
    return {
      store,
      seed,
      seconds: (performance.now() - began) / 1000,
      incidents: planIncidents(store, rounds, random.fork('plan')),
      counts: client.counts,
      intents: client.intents,
      effects: find.effectsOf(readEffectLog(stack.log)),
      unknown,
      said: [...stack.victims.values()].map(({ name, said }) => ({ name, said })),
      ownEnds: [...stack.victims.values()].flatMap(({ name, ownEnds }) =>
        ownEnds.map(({ code, said }) => ({ name, code, said })),
      ),
      findings,
      evidence,
    }
  } finally {
    process.off('exit', onExit)
    await stack.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What was to be prepared in a time that is over may be left to a person, too; the tool gets the first chance to say. */
function needsPerson({ tool }: Intent, began: number, patienceMs: number): boolean {
  return NEEDS_PERSON.has(tool) || (tool === 'two-phase' && performance.now() > began + patienceMs / 2)
}

/** Incidents overlap, but one process is in one of them at a time. */
async function makeTrouble(
  stack: Stack,
  incidents: readonly Incident[],
  say: (line: string) => void,
): Promise<void> {
  const busy = new Map<string, Promise<void>>()
  for (const [index, incident] of incidents.entries()) {
    await sleep(incident.afterMs)
    await busy.get(incident.victim)
    busy.set(incident.victim, befall(stack, incident))
    if ((index + 1) % 50 === 0) say(`${index + 1} incidents`)
  }
  await Promise.all(busy.values())
}

async function befall(stack: Stack, { kind, victim: name, downMs, upMs }: Incident): Promise<void> {
  const victim = stack.victims.get(name)
  if (victim === undefined) throw new Error(`there is no ${name}`)
  if (kind === 'kill' || kind === 'stop') {
    await victim.end(kind)
    await sleep(downMs)
  } else {
    victim.freeze()
    await sleep(downMs)
    victim.thaw()
  }
  await victim.start()
  await sleep(upMs)
}

/** Asks again about everything that is open, until it is decided; a person settles what nobody else can find out. */
async function decideAll(client: CarefulClient, stack: Stack, { patienceMs }: ChaosOptions): Promise<void> {
  const began = performance.now()
  const until = began + patienceMs
  for (;;) {
    const open = client.intents.filter((intent) => !isDecided(lastTold(intent)))
    if (open.length === 0 || performance.now() > until) return
    await inTurn(open, async (intent) => {
      await client.ask(intent)
      const last = lastTold(intent)
      if (last?.state === 'prepared' && intent.plan !== 'leave') await client.act(intent, intent.plan)
      else if (last?.state === 'unknown' && !last.retryable && needsPerson(intent, began, patienceMs)) {
        const { byIntent } = find.effectsOf(readEffectLog(stack.log))
        await client.settle(intent, byIntent.has(intent.id) ? 'done' : 'not-done')
      }
    })
    await sleep(250)
  }
}

async function findAll(
  client: CarefulClient,
  stack: Stack,
  lost: readonly string[],
): Promise<ChaosReport['findings']> {
  const misshown = await showAll(client)
  const { intents } = client
  const lines = readEffectLog(stack.log)
  const effects = find.effectsOf(lines)
  return {
    'effects that happened twice': find.duplicates(intents, effects),
    'outcomes that changed': find.changed(intents),
    'outcomes that are not what the tool did': find.untrue(intents, effects),
    'calls that are not shown as they were told': misshown,
    'keys that were not kept': find.strayKeys(lines),
    'calls without an end': find.undecided(intents),
    'calls that were refused': find.refused(intents),
    'faults of a server': client.faults,
    'servers that did not hear of the tools': stack.deaf,
    'processes that were lost': lost,
    'evidence that does not verify': await brokenChain(stack),
  }
}

/** The intents that findings are about: the first few, as only those can be looked into. */
function blamed(intents: readonly Intent[], findings: ChaosReport['findings']): readonly Intent[] {
  const named = new Set(
    Object.values(findings).flatMap((found) =>
      found.slice(0, BLAMED).flatMap((text) => /\bi-\d+\b/.exec(text) ?? []),
    ),
  )
  return intents.filter(({ id }) => named.has(id))
}

/** Asks about every call that was told as final, and once more for every key. */
async function showAll(client: CarefulClient): Promise<readonly string[]> {
  const wrong: string[] = []
  await inTurn(client.intents, async (intent) => {
    await client.ask(intent)
    for (const told of intent.told.filter(({ final }) => final)) {
      const finding = find.misshown(intent, told, await client.show(told.callId))
      if (finding !== undefined) wrong.push(finding)
    }
  })
  return wrong
}

async function inTurn(intents: readonly Intent[], run: (intent: Intent) => Promise<void>): Promise<void> {
  const waiting = [...intents]
  const worker = async () => {
    for (let intent = waiting.pop(); intent !== undefined; intent = waiting.pop()) await run(intent)
  }
  await Promise.all(Array.from({ length: CALM_CLIENTS }, worker))
}
