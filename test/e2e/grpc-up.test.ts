// writ up --grpc-port as a real process, called by Go's own library, and told to end while a call is under way.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runWrit, startUp, type UpServer } from '../cli/writ-process.ts'
import { buildGo, callGo } from './grpc-peers.ts'

const go = buildGo({ after })

/** A port that was free a moment ago: grpc_port 0 means none. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

test('after SIGTERM a call over gRPC ends with its result, new ones are told UNAVAILABLE, and the end is 0', {
  skip: 'skip' in go && go.skip,
}, async (t) => {
  const program = 'program' in go ? go.program : ''
  const cwd = mkdtempSync(join(tmpdir(), 'writ-grpc-up-'))
  const { promise: asked, resolve: ask } = Promise.withResolvers<ServerResponse>()
  let calls = 0
  const peer = createServer((request, response) => {
    calls++
    request.resume().on('end', () => ask(response))
  })
  await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve))
  let server: UpServer | undefined
  t.after(async () => {
    server?.child.kill('SIGKILL')
    await server?.ended
    peer.closeAllConnections()
    await new Promise((resolve) => peer.close(resolve))
    rmSync(cwd, { recursive: true })
  })
  server = await startUp({ cwd, args: ['--grpc-port', String(await freePort())] })
  const [, address = ''] = await server.until(/grpc:\/\/(\S+)/)
  const endpoint = `http://127.0.0.1:${(peer.address() as AddressInfo).port}/`
  const tool = {
    apiVersion: 'writ.dev/v1',
    kind: 'Tool',
    metadata: { name: 'act' },
    spec: { type: 'http', endpoint, effect: { class: 'external-communication' } },
  }
  writeFileSync(join(cwd, 'tool.json'), JSON.stringify(tool))
  const applied = await runWrit(['apply', '-f', 'tool.json'], { cwd })
  assert.equal(applied.code, 0, applied.err)
  const token = readFileSync(join(cwd, '.writ', 'admin-token'), 'utf8').trim()
  const call = (id: string) =>
    callGo(program, address, token, { request_id: id, tool: { name: 'act' }, input: { id } })

  const running = call('running')
  const response = await asked
  server.child.kill('SIGTERM')
  await server.until(/letting calls end/)
  const late = await call('late')
  assert.equal(late.code, 14)
  assert.match(late.message, /shutting down and takes no new work\. Nothing was run/)
  assert.equal(server.child.exitCode, null, 'it waits for the call')
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ did: 'it' }))
  const ended = await running
  assert.deepEqual([ended.code, ended.reply?.status], [0, 'ok'], ended.message)
  assert.deepEqual(ended.reply.output, { did: 'it' })
  const { code, signal, err } = await server.ended
  assert.deepEqual([code, signal], [0, null], err)
  assert.equal(calls, 1)
})
