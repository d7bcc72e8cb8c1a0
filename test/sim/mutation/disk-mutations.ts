// The rules of what is on disk when, and of what a crash leaves.
import { type Mutation, one } from './mutation.ts'

const SETTLE = 'src/pipeline/settle.ts'
const QUEUE = 'src/store/write-queue.ts'
const RECOVER = 'src/driver/recover.ts'

export const DISK_MUTATIONS: readonly Mutation[] = [
  one(
    'outcome-before-answer',
    'S34',
    SETTLE,
    `const written = await kit.ledger.settle(`,
    `const written = { kind: 'written' as 'written' | 'conflict' }
    void kit.ledger.settle(`,
  ),
  one(
    'acknowledged-after-commit',
    'S34',
    QUEUE,
    `const results = await options.flush(running.map((one) => one.write))`,
    `const flushing = options.flush(running.map((one) => one.write))
      for (const one of running) one.resolve({ kind: 'written' } as R)
      const results = await flushing`,
  ),
  one(
    'failed-flush-is-final',
    'S37',
    QUEUE,
    `    } catch (error) {
      fail(error)
    }`,
    `    } catch {
      settle(running.map(() => ({ kind: 'written' }) as R))
    }`,
  ),
  one(
    'notes-are-written-soon',
    'S34',
    QUEUE,
    `timer ??= world.after(noteLagMs, () => {`,
    `timer ??= world.after(100 * noteLagMs, () => {`,
  ),
  one(
    'strict-reads-wait',
    'S34',
    SETTLE,
    `const wait = state.target.tool.auditStrict`,
    `const wait = state.target.tool.auditStrict && state.startedAt < 0`,
  ),
  one(
    'recovery-says-unknown',
    'S36',
    RECOVER,
    `const to = entry.readOnly ? 'not-done' : 'unknown'`,
    `const to = 'not-done' as 'not-done' | 'unknown'`,
  ),
  one(
    'recovered-is-never-sent-again',
    'S36',
    RECOVER,
    `const failure = interrupted(entry.readOnly)`,
    `const failure = interrupted(true)`,
  ),
  one(
    'recovery-finds-what-was-left',
    'S36',
    'src/store/sqlite/reader.ts',
    `where open = 1 and state in ('intended', 'sent') and epoch <> ? order by number limit ?`,
    `where open = 1 and state in ('sent') and epoch <> ? order by number limit ?`,
  ),
  one(
    'chain-links-the-batches',
    'S39',
    'src/store/evidence-chain.ts',
    `return sha256Hex(prev, root)`,
    `return sha256Hex('', root)`,
  ),
]
