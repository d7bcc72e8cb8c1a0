// Runs one plan to its end and says what happened. The same plan gives the same trace, in this process and in any other.
import { makeKeyText } from '../../src/ledger/audit-key.ts'
import { createReader } from '../../src/store/sqlite/reader.ts'
import { forbidAmbient } from './ambient.ts'
import { applyTools, createDatabase, type ResourceCells } from './applied-tool.ts'
import { LedgerView } from './invariant.ts'
import type { Plan } from './plan.ts'
import type { SimReport, SimulateOptions } from './sim-report.ts'
import { SimRun } from './sim-run.ts'
import { withUndo } from './sim-tool.ts'

export type { Counts, SimReport } from './sim-report.ts'

export type Simulator = (plan: Plan, options?: SimulateOptions) => Promise<SimReport>

/** Makes what all runs of this process share: the tools as they were applied. */
export async function createSimulator(): Promise<Simulator> {
  const tools = await applyTools()
  const { database, reset } = createDatabase()
  const evidence = createReader(database, { epoch: '', now: () => 0 }).evidence
  const shared = { database, ledger: new LedgerView(database), evidence, auditKey: makeKeyText() }
  return async (plan, options = {}) => {
    const used = withUndo(plan.asks.map((ask) => ask.tool))
    reset(used.map((name) => tools.get(name) as ResourceCells))
    const run = new SimRun(plan, shared, options)
    const allow = forbidAmbient()
    const onRejection = (error: unknown) =>
      run.fail('no-bug', `unhandled rejection: ${error instanceof Error ? error.stack : String(error)}`)
    process.on('unhandledRejection', onRejection)
    try {
      return await run.toEnd(options.turns ?? 1)
    } finally {
      process.off('unhandledRejection', onRejection)
      allow()
    }
  }
}
