// What governance costs a gRPC tool: the same call over one connection, direct and governed.
import { type ClientHttp2Session, connect } from 'node:http2'
import { join } from 'node:path'
import { createLocalAdmin } from '../src/contract/caller.ts'
import { createRuntime } from '../src/runtime.ts'
import { frameOf } from '../src/util/grpc-frame.ts'
import { type Contestant, type Measured, measure, print } from './measure.ts'

const IN_FLIGHT = [1, 16, 64]
const input = { query: 'latest market analysis', limit: 10 }

interface Options {
  readonly folder: string
  /** host:port of the peer. */
  readonly address: string
  readonly quick: boolean
}

export async function grpcBench({ folder, address, quick }: Options): Promise<void> {
  const manifest = (name: string, effect: string) =>
    `apiVersion: writ.dev/v1\nkind: Tool\nmetadata: {name: ${name}}\nspec: {type: grpc, endpoint: "${address}", grpc: {plaintext: true}, effect: {class: ${effect}}}\n`
  const runtime = await createRuntime({ store: { kind: 'sqlite', path: join(folder, 'grpc.db') } })
  const text = `${manifest('read', 'read-only')}---\n${manifest('write', 'external-communication')}`
  const applied = await runtime.resources.apply([{ text, file: 'bench' }])
  if (!applied.ok) throw new Error(JSON.stringify(applied.problems))
  const door = runtime.as(createLocalAdmin())
  const must = async (tool: string) => {
    const answer = await door.call({ tool, input })
    if (answer.state !== 'succeeded') throw new Error(JSON.stringify(answer))
  }
  const session = connect(`http://${address}`)
  let serial = 0
  const contestants: Contestant[] = [
    { name: 'direct node:http2', run: () => direct(session, `b-${serial++}`) },
    { name: 'governed read', run: () => must('read') },
    { name: 'governed write, durable', run: () => must('write') },
  ]
  const lines: Measured[] = []
  for (const inFlight of IN_FLIGHT) {
    const calls = (inFlight === 1 ? 1_000 : 6_000) / (quick ? 10 : 1)
    lines.push(...(await measure(contestants, inFlight, { calls, rounds: 3 })))
  }
  print('gRPC tool on loopback', lines)
  session.close()
  await runtime.close()
}

function direct(session: ClientHttp2Session, id: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/orloj.tool.v1.ToolService/Execute',
      'content-type': 'application/grpc+json',
      te: 'trailers',
    })
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('error', reject)
    stream.on('close', () => resolve(JSON.parse(Buffer.concat(chunks).subarray(5).toString())))
    stream.end(frameOf(JSON.stringify({ request_id: id, tool: { name: 'read' }, input })))
  })
}
