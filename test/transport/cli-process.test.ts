// The processes of the cli transport: nothing outlives its call, nothing is kept, nothing leaks.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { ResolvedCli } from '../../src/resource/resolved-cli.ts'
import type { ResolvedTool } from '../../src/resource/resolved-tool.ts'
import { createCliTransport } from '../../src/transport/cli.ts'
import { Abort } from '../../src/util/abort.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { fixture, makeCli } from './cli-bench.ts'
import { makeSend, makeSink, makeTool } from './send-fixture.ts'
import { pause, refusal, success } from './transport-contract.ts'

const FAMILY = fixture('family.sh')
const world = createSystemWorld()
const folder = mkdtempSync(join(tmpdir(), 'writ-cli-process-'))
const open = () => createCliTransport({ world, cliAllow: [FAMILY, 'sh', 'true', 'cat', 'setsid'] })
const transport = open()
after(async () => {
  await transport.close()
  await world.network.close()
  rmSync(folder, { recursive: true })
})

const tool = (cli: Partial<ResolvedCli>, rest: Partial<ResolvedTool> = {}) =>
  makeTool({ type: 'cli', cli: makeCli({ env: { PATH: '/usr/bin:/bin' }, ...cli }), ...rest })

let families = 0

/** Starts a family of processes, and resolves with their numbers once they all run. */
async function startFamily(mode: 'stay' | 'leave' | 'wait', abort = new Abort(), by = transport) {
  const file = join(folder, `family-${families++}`)
  const reply = by.attempt(makeSend(tool({ command: FAMILY, args: [file, mode] }), {}, { abort }), makeSink())
  await until(() => existsSync(file), 'the family runs')
  const [parent, child] = readFileSync(file, 'utf8').trim().split(' ').map(Number)
  return { reply, pids: [parent ?? 0, child ?? 0] }
}

async function until(holds: () => boolean, what: string, ms = 10_000): Promise<void> {
  const deadline = performance.now() + ms
  while (!holds()) {
    assert.ok(performance.now() < deadline, `in time: ${what}`)
    await pause(5)
  }
}

/** A zombie is no process that lives, but nobody has reaped it: it counts, if it is ours. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : ''
  const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return state !== 'Z' || Number(parent) === process.pid
}

const children = () =>
  readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === process.pid
    } catch {
      return false
    }
  }).length

const handles = (kind: string) => process.getActiveResourcesInfo().filter((name) => name === kind).length

const openFiles = () => readdirSync('/proc/self/fd').length

const linux = { skip: existsSync('/proc/self/stat') ? false : 'there is no /proc. Fix: run it on Linux' }

describe('a program that is stopped', () => {
  it('is answered at once, and dies with its children: TERM, then KILL', linux, async () => {
    for (const [mode, least] of [
      ['wait', 0],
      ['stay', 1_500],
    ] as const) {
      const abort = new Abort()
      const { reply, pids } = await startFamily(mode, abort)
      const began = performance.now()
      abort.abort('timeout')
      assert.equal(refusal(await reply).failure, 'timeout-unknown-commit')
      assert.ok(performance.now() - began < 1_000, 'the caller does not wait for the end of it')
      await until(() => !pids.some(isAlive), 'all of them are gone')
      assert.ok(performance.now() - began >= least, 'there was time to end by itself')
    }
  })

  it('is killed with its children at once when the transport closes', linux, async () => {
    const own = open()
    const { reply, pids } = await startFamily('stay', new Abort(), own)
    await own.close()
    assert.equal(pids.some(isAlive), false)
    assert.equal(refusal(await reply).failure, 'tool-crashed')
  })
})

describe('a program that ends', () => {
  it('takes along the children it leaves behind, although they hold its output', linux, async () => {
    const { reply, pids } = await startFamily('leave')
    assert.equal(success(await reply).output, 'left\n')
    await until(() => !pids.some(isAlive), 'the child is gone')
  })

  it('is not waited for longer when somebody who left its group holds its output', linux, async () => {
    const file = join(folder, 'escaped')
    const script = `setsid sh -c 'echo $$ >${file}.new; mv ${file}.new ${file}; exec sleep 600' & while [ ! -e ${file} ]; do :; done; echo done`
    const reply = await transport.attempt(
      makeSend(tool({ command: 'sh', args: ['-c', script] }), {}),
      makeSink(),
    )
    const escaped = Number(readFileSync(file, 'utf8'))
    try {
      assert.equal(success(reply).output, 'done\n')
    } finally {
      process.kill(escaped, 'SIGKILL')
    }
  })

  it('has all of its output read, however much comes at its very end', async () => {
    const limits = { inputBytes: 1_000, outputBytes: 20_000_000 }
    const args = ['-c', 'head -c 10000000 /dev/zero | tr "\\0" x']
    const reply = await transport.attempt(makeSend(tool({ command: 'sh', args }, { limits }), {}), makeSink())
    assert.equal(String(success(reply).output).length, 10_000_000)
  })
})

describe('many programs', () => {
  it('a flood of a gigabyte is stopped at the limit, and little of it was kept', linux, async () => {
    const args = ['-c', 'head -c 1000000000 /dev/zero']
    const limits = { inputBytes: 1_000, outputBytes: 1_048_576 }
    const before = process.memoryUsage().rss
    const send = () => transport.attempt(makeSend(tool({ command: 'sh', args }, { limits }), {}), makeSink())
    for (const reply of await Promise.all(Array.from({ length: 8 }, send)))
      assert.equal(refusal(reply).failure, 'output-too-large')
    const grown = process.memoryUsage().rss - before
    assert.ok(grown < 200 * 1_048_576, `grew by ${grown} bytes`)
    await until(() => children() === 0, 'no program is left')
  })

  it('two thousand calls leave no process, no file and no timer behind', linux, async () => {
    const one = tool({ command: 'cat', stdinFromInput: true })
    const send = (n: number) => transport.attempt(makeSend(one, { n }), makeSink())
    for (let n = 0; n < 16; n++) success(await send(n))
    await until(() => children() === 0 && handles('ProcessWrap') === 0, 'the first ones are gone')
    const files = openFiles()
    const pipes = handles('PipeWrap')
    for (let round = 0; round < 5; round++) {
      // More at once than run at once: the others wait.
      const replies = await Promise.all(Array.from({ length: 400 }, (_, n) => send(n)))
      for (const [n, reply] of replies.entries()) assert.equal(success(reply).output, `{"n":${n}}`)
    }
    await until(() => children() === 0 && openFiles() <= files, 'every process and file is closed')
    await until(() => handles('ProcessWrap') === 0 && handles('PipeWrap') <= pipes, 'nothing is listened to')
  })

  it('a call that waits for its turn can be stopped, and has sent nothing', linux, async () => {
    const own = open()
    const busy = Array.from({ length: 128 }, () => {
      const one = tool({ command: 'sh', args: ['-c', 'exec sleep 600'] })
      return own.attempt(makeSend(one, {}), makeSink())
    })
    await until(() => children() === 128, 'as many run as may')
    const abort = new Abort()
    const sink = makeSink()
    const waiting = own.attempt(makeSend(tool({ command: 'true' }), {}, { abort }), sink)
    setImmediate(() => abort.abort('timeout'))
    const reply = refusal(await waiting)
    assert.deepEqual([reply.failure, reply.definite, sink.sent], ['timeout-before-send', true, 0])
    const late = own.attempt(makeSend(tool({ command: 'true' }), {}), makeSink())
    await own.close()
    assert.equal(refusal(await late).failure, 'timeout-before-send', 'nothing is started after the end')
    for (const one of busy) assert.equal(refusal(await one).failure, 'tool-crashed')
    assert.equal(children(), 0)
  })
})
