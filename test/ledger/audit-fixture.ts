// Exports of real stores with real checkpoints, for tests that change them and look whether it is noticed.
import { openAudit } from '../../src/driver/open-audit.ts'
import { createEvents } from '../../src/event/event.ts'
import { makeKeyText } from '../../src/ledger/audit-key.ts'
import type { AuditLine } from '../../src/ledger/audit-line.ts'
import { type VerifyOptions, verifyExport } from '../../src/ledger/audit-verify.ts'
import { createMemoryData, type MemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import type { World } from '../../src/util/world.ts'
import { newLife } from '../store/fixture.ts'

export interface Life {
  readonly world: World
  readonly store: Store
  readonly audit: Awaited<ReturnType<typeof openAudit>>
  /** Writes so many records as one link. */
  write(records: number): Promise<void>
}

export const KEY = { pem: makeKeyText() }

/** One life of a process over what is kept in `data`. */
export async function live<T>(
  data: MemoryData,
  work: (life: Life) => Promise<T>,
  over: Partial<World> = {},
  key = KEY,
): Promise<T> {
  const world = { ...newLife(), ...over }
  const store = await createMemoryStore({ world, data })
  const audit = await openAudit(world, store, createEvents(), { key })
  let count = 0
  try {
    return await work({
      world,
      store,
      audit,
      async write(records) {
        const evidence = Array.from({ length: records }, () => {
          count += 1
          const body = { actor: 'agent-\u00e9', number: count, nested: { text: 'a "quoted" \u2028 text' } }
          return {
            namespace: 'default',
            callId: `call-${count}`,
            type: 'tool.started' as const,
            at: 1_000.5 + count,
            body,
          }
        })
        await store.ledger.intend({ namespace: 'default', evidence })
      },
    })
  } finally {
    await audit.close()
    await store.close()
  }
}

export async function collect(pieces: AsyncIterable<string>): Promise<string[]> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text.split('\n').filter((line) => line !== '')
}

/** Three lives, each with some links and a checkpoint in between; the lines that the last one exports. */
export async function threeLives(data = createMemoryData()): Promise<string[]> {
  for (let life = 0; life < 2; life++) {
    await live(data, async ({ write, audit }) => {
      for (const records of [3, 1, 2]) await write(records)
      await audit.head()
      await write(2)
    })
  }
  return live(data, async ({ write, audit }) => {
    await write(2)
    await audit.head()
    await write(1)
    return collect(audit.export())
  })
}

export function verify(lines: readonly (string | Uint8Array)[], options?: VerifyOptions) {
  return verifyExport(eachOf(lines), options)
}

async function* eachOf(lines: readonly (string | Uint8Array)[]): AsyncIterable<string | Uint8Array> {
  yield* lines
}

/** Changes the lines that `when` chooses; undefined takes a line out. */
export function edited(
  lines: readonly string[],
  change: (line: AuditLine & Record<string, unknown>, index: number) => object | undefined,
): string[] {
  return lines.flatMap((text, index) => {
    const next = change(JSON.parse(text), index)
    return next === undefined ? [] : [JSON.stringify(next)]
  })
}

export function find<K extends AuditLine['kind']>(
  lines: readonly string[],
  kind: K,
  when: (line: Extract<AuditLine, { kind: K }>) => boolean = () => true,
): { readonly at: number; readonly line: Extract<AuditLine, { kind: K }> } {
  const at = lines.findIndex((text) => {
    const line: AuditLine = JSON.parse(text)
    return line.kind === kind && when(line as Extract<AuditLine, { kind: K }>)
  })
  return { at, line: JSON.parse(lines[at] as string) }
}

/** The lives in an export, in order. */
export function epochsOf(lines: readonly string[]): string[] {
  return [...new Set(lines.map((text) => JSON.parse(text).epoch).filter((epoch) => epoch !== undefined))]
}
