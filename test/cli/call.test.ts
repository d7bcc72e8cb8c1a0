// writ call against a real server: what it prints, and how it exits.
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { after, describe, it } from 'node:test'
import { parse } from 'yaml'
import { startServerCommands } from './server-commands.ts'

const { harness, env, writ, close } = await startServerCommands()
after(close)

describe('writ call', () => {
  it('prints the output on stdout and how it ended on stderr', async () => {
    const { code, out, err } = await writ('call echo --set city=Oslo --set n=3')
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(out), { said: { city: 'Oslo', n: 3 } })
    assert.match(err, /^succeeded {2}effect: none {2}attempt: 1 {2}\d+ ms {2}call: [0-9a-f-]{36}\n$/)
  })

  for (const dialect of ['v1', 'legacy', 'four-outcome']) {
    it(`asks and answers in ${dialect}`, async () => {
      const { code, out, err } = await writ(`call echo --dialect ${dialect} --input '{"a":1}' -o json`)
      assert.equal(code, 0, err)
      const body = JSON.parse(out)
      assert.deepEqual(body.output ?? body.result, { said: { a: 1 } })
      assert.equal(err, '')
    })
  }

  it('prints data as YAML, and with --raw on one line', async () => {
    assert.equal(parse((await writ('call echo -o yaml')).out).status, 'ok')
    const { out } = await writ('call echo --raw')
    assert.equal(out.trimEnd().includes('\n'), false)
    assert.equal(JSON.parse(out).status, 'ok')
  })

  it('reads its input from a pipe', async () => {
    assert.deepEqual(JSON.parse((await writ('call echo -', { input: '[1, 2]' })).out), { said: [1, 2] })
  })

  it('S32: exits by how the call ended', async () => {
    const codes: Record<string, number> = {
      'call post --set wrong=1': 3,
      'call none-such': 7,
      'call echo --operation none-such': 3,
      'call echo --version ^9': 7,
      'call pay --set amount=5000': 5,
      'call wait --set ms=5000 --timeout 50ms': 6,
      'call wait --set ms=3000 --wait 1s': 5,
      'call wait --set ms=3000 --async': 5,
      'call post --set text=dry --dry-run': 0,
    }
    for (const [line, code] of Object.entries(codes)) {
      const ended = await writ(line)
      assert.equal(ended.code, code, `${line}: ${ended.err}`)
    }
    assert.equal(harness.effects.done.includes('dry'), false)
  })

  it('sends an effect once for one key or one request id', async () => {
    for (const flag of ['--key', '--request-id']) {
      const line = `call post --set text=${flag} ${flag} my-invoice-0000${flag}`
      assert.match((await writ(line)).err, /effect: done/)
      assert.match((await writ(line)).err, /replayed/)
      assert.equal(harness.effects.done.filter((text) => text === flag).length, 1)
    }
    const conflict = await writ('call post --set text=other --key my-invoice-0000--key')
    assert.equal(conflict.code, 3)
    assert.match(conflict.err, /key-conflict/)
  })

  it('lists every violation and the fix', async () => {
    const { out, err } = await writ('call post --set wrong=1')
    assert.equal(out, '')
    assert.match(err, /input-invalid/)
    assert.match(err, /\/wrong/)
    assert.match(err, /^Fix: /m)
  })

  it('S13: after an end that invites another try, says how to make it the same call', async () => {
    const line = 'call wait --set ms=5000 --timeout 50ms'
    for (const format of ['', ' -o json', ' --raw']) {
      const { code, err } = await writ(`${line}${format}`)
      assert.equal(code, 6)
      assert.match(err, /^Run it again with --request-id [0-9a-f-]{36}: /m)
    }
    assert.match((await writ(`${line} --request-id mine-2`)).err, /again with --request-id mine-2, as before/)
    assert.match((await writ(`${line} --key mine-3`)).err, /^Run it again with the same --key: /m)
  })

  it('S13: after an unknown effect, names the id that asks again without sending', async () => {
    const line = 'call post --set text=lost --set ms=5000 --timeout 50ms'
    const lost = await writ(line)
    assert.equal(lost.code, 8, lost.err)
    const [, id] = /^Ask again with --request-id (\S+): nothing is sent/m.exec(lost.err) ?? []
    const [, call] = /call: (\S+)/.exec(lost.err) ?? []
    const again = await writ(`${line} --request-id ${id}`)
    assert.equal(again.code, 8)
    assert.match(again.err, /^outcome-unknown: /m)
    assert.match(again.err, new RegExp(`^  call_id: ${call}$`, 'm'))
    assert.equal(harness.effects.done.includes('lost'), false)
  })

  it('shows the details that a fix names', async () => {
    await writ('call busy')
    const lines: Record<string, RegExp> = {
      'call echo --version ^9': /^ {2}versions: 1\.0\.0$/m,
      'call echo --operation none-such': /^ {2}operations: invoke$/m,
      'call pay --set amount=5001': /^ {2}approval_id: \S+$/m,
      'call busy': /^ {2}retry_after_ms: \d+$/m,
    }
    for (const [line, shown] of Object.entries(lines)) {
      const { err } = await writ(line)
      assert.match(err, shown)
      assert.doesNotMatch(err, /dotted_code|^ {2}(failure|fix|effect):/m)
    }
    assert.match((await writ('explain call echo --version ^9')).out, /^ {2}versions: 1\.0\.0$/m)
    const { err } = await writ('call echo --version ^9')
    const [, id] = /call: (\S+)/.exec(err) ?? []
    assert.match((await writ(`calls ${id}`)).out, /^Details: +range: \^9\n +versions: 1\.0\.0$/m)
  })

  it('proposes the tool that was meant', async () => {
    for (const line of [
      'call ehco',
      'explain call ehco',
      'get tools ehco',
      'describe tool ehco',
      'delete tool ehco',
    ]) {
      const { code, out, err } = await writ(line)
      assert.equal(code, 7, line)
      assert.match(`${out}${err}`, /^Fix: did you mean 'echo'\?$/m, line)
    }
    assert.match((await writ('call nothing-like-it')).err, /^Fix: (?!did you mean)/m)
  })

  it('S17: a dry run has no id to be found by, and exits as the call would', async () => {
    const ended = await writ('call post --set text=dry-2 --dry-run')
    assert.equal(ended.code, 0)
    assert.match(ended.err, / dry run$/m)
    for (const dialect of ['v1', 'four-outcome']) {
      const refused = await writ(`call echo --operation none-such --dry-run --dialect ${dialect}`)
      assert.equal(refused.code, 3, refused.err)
      assert.match(refused.err, /^operation-unknown: /m)
    }
  })

  it('says how to go on with a call that is still open', async () => {
    const { err } = await writ('call wait --set ms=1000 --async')
    const [, id] = /See how it goes on: writ calls (\S+)/.exec(err) ?? []
    assert.equal((await writ(`calls ${id}`)).code, 5)
  })

  it('refuses flags that exclude each other, and what the legacy dialect cannot say', async () => {
    assert.equal((await writ('call echo --async --wait 1s')).code, 2)
    for (const flag of ['--timeout 1s', '--version 1', '--dry-run', '--deadline 1s']) {
      const { code, err } = await writ(`call echo --dialect legacy ${flag}`)
      assert.equal(code, 2)
      assert.match(err, /legacy/)
    }
  })

  it('does not let an output drive the terminal of a person', async () => {
    const input = JSON.stringify('\u001b]0;title\u0007\u001b[2J')
    const watched = await writ('call echo -', { input, outIsTty: true })
    assert.ok(!watched.out.includes('\u001b'))
    const deadline = await writ('call echo --deadline 5s')
    assert.equal(deadline.code, 0)
  })

  it('says that a call may have run when the connection breaks, and how to find out', async () => {
    const peer = createServer((socket) => socket.once('data', () => socket.destroy()))
    await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`
    const { code, err } = await writ('call echo --request-id mine-1', { env: { ...env, WRIT_URL: url } })
    await new Promise((resolve) => peer.close(resolve))
    assert.equal(code, 8)
    assert.match(err, /may have run/)
    assert.match(err, /--request-id mine-1/)
  })
})
