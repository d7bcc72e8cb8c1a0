// The rules of what is on disk when, and of what a crash leaves.
import { type Mutation, one } from './mutation.ts'

const SETTLE = 'src/pipeline/settle.ts'
const QUEUE = 'src/store/write-queue.ts'

export const DISK_MUTATIONS: readonly Mutation[] = [
  one(
    'outcome-before-answer',
    'S34',
    SETTLE,
    `const written = await within(left + RECORD_MS, writing, kit.world)`,
    `const written = { kind: 'written' as 'written' | 'conflict' } as Awaited<typeof writing> | undefined
    writing.catch(() => {})`,
  ),
  one(
    'acknowledged-after-commit',
    'S34',
    QUEUE,
    `const results = await options.flush(running.map((one) => one.write))`,
    `const flushing = options.flush(running.map((one) => one.write))
      for (const one of running) {
        if ((one.write as unknown as readonly string[])[0] === 'write') one.resolve({ kind: 'written' } as R)
      }
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
    'chain-links-the-batches',
    'S39',
    'src/store/evidence-chain.ts',
    `return sha256Hex(prev, root)`,
    `return sha256Hex('', root)`,
  ),
]
