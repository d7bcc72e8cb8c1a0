// writ audit head, export and verify, against a real server and without any.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { makeKeyText, readAuditKey } from '../../src/ledger/audit-key.ts'
import { type ServerCommands, startServerCommands } from './server-commands.ts'

describe('writ audit', () => {
  let commands: ServerCommands
  const path = (name: string) => join(commands.cwd, name)
  /** Neither a server nor a data folder. */
  const offline = { env: {} }
  before(async () => {
    commands = await startServerCommands()
    await commands.harness.call('post', { text: 'one' })
    await commands.writ('audit export --out early.jsonl')
    await commands.harness.call('post', { text: 'two' })
    writeFileSync(path('head.json'), (await commands.writ('audit head -o json')).out)
    await commands.harness.call('post', { text: 'three' })
    assert.deepEqual(await commands.writ('audit export --out whole.jsonl'), { code: 0, out: '', err: '' })
  })
  after(() => commands.close())

  it('S39: head shows the checkpoint and the public key that it can be checked with', async () => {
    const { code, out } = await commands.writ('audit head')
    assert.equal(code, 0)
    assert.match(
      out,
      /^Checkpoint: +\d+\nMade: .*\nHash: +[0-9a-f]{64}\nKey: +[0-9a-f]{16}\nPublic key: +MCow/,
    )
  })

  it('S39: export writes to standard output as well, and leaves no half of a file', async () => {
    const { code, out } = await commands.writ('audit export')
    assert.equal(code, 0)
    assert.match(out, /^\{"kind":"export".*\n/)
    assert.equal(existsSync(path('whole.jsonl.part')), false)
    const refused = await commands.writ('audit export --out no/such/folder.jsonl')
    assert.equal(refused.code, 2)
    assert.match(refused.err, /cannot be written/)
  })

  it('S39: verify works on a file without a server, and says up to when it vouches', async () => {
    const { code, out } = await commands.writ('audit verify whole.jsonl', offline)
    assert.equal(code, 0)
    assert.match(out, /^intact\n/)
    assert.match(out, /Vouched: +up to checkpoint \d+, of \d{4}-/)
    assert.match(out, /Head: +none given/)
  })

  it('S39: verify asks the server where no file is given', async () => {
    assert.equal((await commands.writ('audit verify')).code, 0)
    assert.equal((await commands.writ('audit verify', offline)).code, 6, 'there is no server')
  })

  it('S32, S39: faults are named with their position, and the exit code is 7', async () => {
    const text = readFileSync(path('whole.jsonl'), 'utf8')
    writeFileSync(path('edited.jsonl'), text.replace('tool.completed', 'tool.complated'))
    const { code, out } = await commands.writ('audit verify edited.jsonl', offline)
    assert.equal(code, 7)
    assert.match(out, /^1 fault\n/)
    assert.match(
      out,
      /record-changed at line \d+, epoch [0-9a-f-]{36}, seq 4: a record is not as it was written/,
    )
    const data = JSON.parse((await commands.writ('audit verify edited.jsonl -o json', offline)).out)
    assert.equal(data.ok, false)
    assert.deepEqual(
      data.faults.map(({ kind, seq }: { kind: string; seq: number }) => [kind, seq]),
      [['record-changed', 4]],
    )
  })

  it('S39: a kept head shows what was cut off', async () => {
    assert.equal((await commands.writ('audit verify whole.jsonl --head head.json', offline)).code, 0)
    assert.equal((await commands.writ('audit verify early.jsonl', offline)).code, 0, 'alone it looks whole')
    const cut = await commands.writ('audit verify early.jsonl --head head.json', offline)
    assert.equal(cut.code, 7)
    assert.match(cut.out, /tail-cut at checkpoint \d+/)
    const { hash } = JSON.parse(readFileSync(path('head.json'), 'utf8'))
    assert.equal((await commands.writ(`audit verify whole.jsonl --head ${hash}`, offline)).code, 0)
    assert.equal((await commands.writ(`audit verify early.jsonl --head ${hash}`, offline)).code, 7)
  })

  it('S39: the file of an anchor is a head, too: its last line counts', async () => {
    const { hash: _, ...rest } = JSON.parse(readFileSync(path('head.json'), 'utf8'))
    const line = JSON.stringify(JSON.parse(readFileSync(path('head.json'), 'utf8')))
    writeFileSync(path('anchor.jsonl'), `${JSON.stringify(rest)}\n\n${line}\n`)
    assert.equal((await commands.writ('audit verify whole.jsonl --head anchor.jsonl', offline)).code, 0)
  })

  it('S39: only the keys that are given are trusted', async () => {
    const { public_key } = JSON.parse(readFileSync(path('head.json'), 'utf8'))
    writeFileSync(path('key.txt'), `${public_key}\n`)
    writeFileSync(path('key.pem'), `-----BEGIN PUBLIC KEY-----\n${public_key}\n-----END PUBLIC KEY-----\n`)
    for (const file of ['key.txt', 'key.pem', 'head.json']) {
      assert.equal((await commands.writ(`audit verify whole.jsonl --key ${file}`, offline)).code, 0, file)
    }
    writeFileSync(path('other.txt'), readAuditKey(makeKeyText()).publicKey)
    const other = await commands.writ('audit verify whole.jsonl --key other.txt', offline)
    assert.equal(other.code, 7)
    assert.match(other.out, /key-unknown at line \d+, checkpoint 1/)
    assert.equal(
      (await commands.writ('audit verify whole.jsonl --key other.txt --key key.txt', offline)).code,
      0,
      'several may be given',
    )
  })

  it('S32: what is wrong with the command line is told with exit code 2', async () => {
    writeFileSync(path('nonsense'), 'nonsense')
    const lines = [
      'audit',
      'audit verify no-such-file',
      'audit verify .',
      'audit verify whole.jsonl --head no-such-file',
      'audit verify whole.jsonl --head nonsense',
      'audit verify whole.jsonl --key nonsense',
      'audit verify whole.jsonl extra',
    ]
    for (const line of lines) {
      const { code, out, err } = await commands.writ(line, offline)
      assert.equal(code, 2, `${line}: ${err}`)
      assert.equal(out, '')
      assert.notEqual(err, '')
    }
  })

  it('S39: a file that is no export at all has faults', async () => {
    writeFileSync(path('empty'), '')
    assert.equal((await commands.writ('audit verify empty', offline)).code, 7)
    assert.equal((await commands.writ('audit verify nonsense', offline)).code, 7)
  })
})
