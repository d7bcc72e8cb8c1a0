// Programs as tools: what governance costs beside the start of a process.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { createLocalAdmin } from '../src/contract/caller.ts'
import { createRuntime } from '../src/runtime.ts'
import { type Contestant, type Measured, measure, print } from './measure.ts'

const IN_FLIGHT = [1, 16]
const input = { text: 'latest market analysis' }

export async function cliBench({ folder, quick }: { folder: string; quick: boolean }): Promise<void> {
  const manifest = (name: string, effect: string) =>
    JSON.stringify({
      apiVersion: 'writ.dev/v1',
      kind: 'Tool',
      metadata: { name },
      spec: {
        type: 'cli',
        runtime: { isolation_mode: 'none' },
        effect: { class: effect },
        cli: { command: 'echo', args: ['{{.text}}'] },
      },
    })
  const store = { kind: 'sqlite', path: join(folder, 'cli.db') } as const
  const runtime = await createRuntime({ store, cliAllow: ['echo'], onWarning: () => {} })
  const texts = [manifest('read', 'read-only'), manifest('write', 'external-communication')]
  const applied = await runtime.resources.apply(texts.map((text) => ({ text, file: 'bench.json' })))
  if (!applied.ok) throw new Error(JSON.stringify(applied.problems))
  const door = runtime.as(createLocalAdmin())
  const must = async (tool: string) => {
    const answer = await door.call({ tool, input })
    if (answer.state !== 'succeeded') throw new Error(JSON.stringify(answer))
  }
  const direct = () =>
    new Promise<string>((resolve, reject) => {
      execFile('/bin/echo', [input.text], { env: {} }, (error, out) => (error ? reject(error) : resolve(out)))
    })
  const contestants: Contestant[] = [
    { name: 'direct execFile', run: direct },
    { name: 'governed read', run: () => must('read') },
    { name: 'governed write, durable', run: () => must('write') },
  ]
  const lines: Measured[] = []
  for (const inFlight of IN_FLIGHT)
    lines.push(...(await measure(contestants, inFlight, { calls: quick ? 50 : 500, rounds: 3 })))
  print('program on this machine (echo)', lines)
  await runtime.close()
}
