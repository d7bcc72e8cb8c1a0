// Runs policy cases in a runtime of their own that keeps everything in memory and sends nothing: a composition root.
import type { ExplainedDecision } from '../contract/explanation.ts'
import type { CallerDoor, Explanation, Runtime } from '../runtime-api.ts'
import { canonicalJson } from '../util/canonical.ts'
import type { Json } from '../util/json.ts'
import type { World } from '../util/world.ts'
import { CliError, EXIT } from './cli-error.ts'
import { hasErrors, placeProblems, sortProblems, tellProblems, writeStream } from './manifest-problems.ts'
import type { ReadSet } from './read-manifests.ts'
import { type PolicyCase, timeOf } from './read-policy-cases.ts'
import type { Terminal } from './terminal.ts'

export interface CaseResult {
  readonly name: string
  readonly ok: boolean
  readonly expected: ExplainedDecision
  readonly actual: ExplainedDecision
  readonly codes: readonly string[]
  /** What does not fit, one sentence each; empty where all does. */
  readonly wrong: readonly string[]
  readonly explanation: Explanation
}

export interface CaseRun {
  readonly profile: 'local' | 'production'
  /** What governs the cases. */
  readonly manifests: ReadSet
}

export async function runPolicyCases(
  terminal: Terminal,
  cases: readonly PolicyCase[],
  { profile, manifests }: CaseRun,
): Promise<readonly CaseResult[]> {
  // Loaded when it is used: completion and help read this file, too.
  const { createRuntime, createWorld } = await import('../runtime.ts')
  const system = createWorld()
  const runtimes = new Map<number | undefined, Runtime>()

  /** The clock of a runtime only goes on, so every time that a case names has one of its own. */
  async function runtimeAt(at: number | undefined): Promise<Runtime> {
    const known = runtimes.get(at)
    if (known !== undefined) return known
    const world = at === undefined ? system : worldAt(system, at)
    const runtime = await createRuntime({ world, profile, onWarning: () => {} })
    runtimes.set(at, runtime)
    await govern(terminal, runtime, manifests, runtimes.size === 1)
    return runtime
  }

  const results: CaseResult[] = []
  try {
    for (const one of cases) {
      const runtime = await runtimeAt(one.at === undefined ? undefined : timeOf(one.at))
      results.push(judge(one, await ask(runtime.as(callerOf(one)), one)))
    }
  } finally {
    for (const runtime of runtimes.values()) await runtime.close({ drainMs: 0 })
    await system.network.close()
  }
  return results
}

function worldAt(system: World, at: number): World {
  const { clock } = system
  const began = clock.monotonic()
  return {
    ...system,
    clock: { now: () => at + (clock.monotonic() - began), monotonic: () => clock.monotonic() },
  }
}

async function govern(terminal: Terminal, runtime: Runtime, read: ReadSet, tell: boolean): Promise<void> {
  const outcome = await runtime.resources.apply([{ text: writeStream(read.documents), file: 'manifests' }])
  const problems = sortProblems([...read.problems, ...placeProblems(read.documents, outcome.problems)])
  if (tell) tellProblems(terminal, problems)
  if (outcome.ok && !hasErrors(problems)) return
  throw new CliError('the manifests are not valid', { exit: EXIT.invalid, fix: 'mend what is listed above' })
}

function callerOf({ caller }: PolicyCase): Parameters<Runtime['as']>[0] {
  return caller
}

function ask(door: CallerDoor, { call }: PolicyCase): Promise<Explanation> {
  const { task_id: taskId, ...rest } = call
  return door.explain({ ...rest, ...(taskId === undefined ? {} : { taskId }) })
}

/** What governance answers, whether or not there would be room for the call, or a way to send it. */
function judge({ name, expect, code, sends }: PolicyCase, explanation: Explanation): CaseResult {
  const { governing, failure } = explanation
  const actual = governing?.decision ?? explanation.decision
  const matched = governing?.matched.filter((one) => one.monitored !== true && one.decision === actual) ?? []
  const said = [failure?.details.code, failure?.id].flatMap((one) => (typeof one === 'string' ? [one] : []))
  const codes = [...new Set([...matched.map((one) => one.code), ...said])]
  const wrong = [
    ...(actual === expect ? [] : [`is ${actual}, but ${expect} is expected`]),
    ...(code === undefined || codes.includes(code)
      ? []
      : [`has ${codes.length === 0 ? 'no code' : `code ${codes.join(', ')}`}, but ${code} is expected`]),
    ...(sends === undefined || same(sends, explanation.sends)
      ? []
      : [`would send ${shown(explanation.sends)}, but ${shown(sends)} is expected`]),
  ]
  return { name, ok: wrong.length === 0, expected: expect, actual, codes, wrong, explanation }
}

function same(one: Json, other: Json | undefined): boolean {
  return other !== undefined && canonicalJson(one) === canonicalJson(other)
}

function shown(value: Json | undefined): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}
