// The commands about effects after the call, against a real server: what they print, and how they exit (S32).
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { ALICE, BOB, type EffectHarness, startEffectHarness } from '../server/effect-harness.ts'
import { type ServerCommands, serverCommands } from './server-commands.ts'

let commands: ServerCommands<EffectHarness>
let h: EffectHarness
before(async () => {
  h = await startEffectHarness()
  commands = serverCommands(h)
})
after(() => commands.close())
beforeEach(() => {
  h.log.length = 0
  h.moods.confirm = 'ok'
  h.moods.cancel = 'ok'
})

const as = (token: string) => ({ env: { WRIT_URL: h.url, WRIT_TOKEN: token } })
const writ = (line: string, token = ALICE, input = '') => commands.writ(line, { ...as(token), input })
const admin = (line: string) => commands.writ(line)
const idIn = (text: string): string => /call: (\S+)/.exec(text)?.[1] ?? assert.fail(text)

/** What a person is told of a call that was prepared. */
function preparedIn(text: string): { readonly id: string; readonly token: string } {
  const [, token = ''] = /^Commit token: (\S+)$/m.exec(text) ?? assert.fail(text)
  const [, id = ''] = /writ calls commit (\S+) --token -$/m.exec(text) ?? assert.fail(text)
  return { id, token }
}

describe('writ calls commit and rollback', () => {
  it('S26: a prepared call says how to commit it; the token may come from standard input', async () => {
    const prepared = await writ('call reserve')
    assert.equal(prepared.code, 5, prepared.err)
    const { id, token } = preparedIn(prepared.err)
    assert.doesNotMatch(prepared.err, new RegExp(`--token ${token}`), 'others can read a command line')
    assert.match(prepared.err, new RegExp(`writ calls rollback ${id}`))
    const done = await writ(`calls commit ${id} --token -`, ALICE, `${token}\n`)
    assert.deepEqual([done.code, JSON.parse(done.out)], [0, { confirmed: true }], done.err)
    assert.match(done.err, new RegExp(`^${id} is committed: succeeded$`, 'm'))
    const again = await writ(`calls commit ${id} --token ${token}`)
    assert.equal(again.code, 3)
    assert.match(again.err, /already committed[\s\S]*Fix: /)
    assert.deepEqual(h.log, ['prepared', 'committed'])
  })

  it('refuses a commit without a token, with a wrong one, and of somebody else', async () => {
    const { err } = await writ('call reserve')
    const id = idIn(err)
    assert.equal((await writ(`calls commit ${id}`)).code, 2)
    assert.equal((await writ(`calls commit ${id} --token -`)).code, 2)
    assert.equal((await writ(`calls commit ${id} --token nonsense`)).code, 3)
    assert.equal((await writ(`calls commit ${id} --token nonsense`, BOB)).code, 7)
    assert.deepEqual(h.log, ['prepared'])
    const back = await writ(`calls rollback ${id}`)
    assert.deepEqual([back.code, back.out], [0, `${id} is rolled back\n`])
    assert.deepEqual(h.log, ['prepared', 'released'])
  })

  it('exits with 8 when the answer to the commit is lost', async () => {
    h.moods.confirm = 'lost'
    const { id, token } = preparedIn((await writ('call reserve')).err)
    const lost = await writ(`calls commit ${id} --token ${token}`)
    assert.equal(lost.code, 8, lost.err)
    const shown = await writ('calls unknown')
    assert.match(
      shown.out,
      new RegExp(`^${id} +reserve +commit-unknown +\\d+s +\\d+ +commit-unknown +a person: settle$`, 'm'),
    )
    assert.equal((await admin(`calls settle ${id} --as done --reason 'the seats are there'`)).code, 0)
  })
})

describe('writ calls unknown and settle', () => {
  it('lists what is in question and says so when nothing is; settling takes it off the list', async () => {
    const { code, err } = await writ('call mail')
    assert.equal(code, 8)
    const id = idIn(err)
    const table = await writ('calls unknown')
    assert.equal(table.code, 0)
    assert.match(table.out, /^CALL +TOOL +STATE +SINCE +ATTEMPTS +FAILED +NEXT$/m)
    assert.match(
      table.out,
      new RegExp(`^${id} +mail +unknown +\\d+s +1 +tool-crashed +a person: settle$`, 'm'),
    )
    const data = JSON.parse((await writ('calls unknown -o json')).out)
    assert.equal(data.entries[0].call_id, id)
    const settled = await admin(
      `calls settle ${id} --as done --reason 'seen in the outbox' --output {"sent":1} -o json`,
    )
    assert.equal(settled.code, 0, settled.err)
    assert.equal(JSON.parse(settled.out).state, 'succeeded')
    assert.match((await writ(`calls ${id}`)).out, /"sent": 1/)
    assert.equal((await writ('calls unknown')).out, 'Nothing is unknown.\n')
    assert.equal(
      (await writ('calls unknown --state prepared --state sent')).out,
      'Nothing is in that state.\n',
    )
  })

  it('refuses a wrong word, a missing reason, an output that is none, and who may not', async () => {
    const id = idIn((await writ('call mail')).err)
    for (const line of [
      `calls settle ${id} --as perhaps --reason x`,
      `calls settle ${id} --reason x`,
      `calls settle ${id} --as done`,
      `calls settle ${id} --as not-done --reason x --output {}`,
      'calls settle --as done --reason x',
      `calls unknown ${id}`,
      'calls unknown --limit 0',
      'calls unknown --state done',
    ]) {
      assert.equal((await admin(line)).code, 2, line)
    }
    const json = await admin(`calls settle ${id} --as done --reason x --output json`)
    assert.equal(json.code, 3)
    assert.match(json.err, /--output is not JSON/)
    const denied = await writ(`calls settle ${id} --as done --reason x`)
    assert.equal(denied.code, 4)
    assert.match(denied.err, /call:settle/)
    assert.equal((await writ('calls unknown')).out.includes(id), true)
    assert.equal((await admin(`calls settle ${id} --as not-done --reason 'not in the outbox'`)).code, 0)
    const again = await admin(`calls settle ${id} --as done --reason x`)
    assert.equal(again.code, 3)
    assert.match(again.err, /nothing is in question/)
  })

  it('S28: says that a call which is over keeps its answer, and that the same key settles what is harmless', async () => {
    const id = idIn((await writ('call lost')).err)
    assert.match(
      (await writ('calls unknown')).out,
      new RegExp(`^${id} .* the same key again settles it$`, 'm'),
    )
    const settled = await admin(`calls settle ${id} --as done --reason 'seen there'`)
    assert.equal(settled.code, 0)
    assert.match(
      settled.out,
      /keeps its answer, failed; the effect is settled as done, and its key is now answered/,
    )
    const shown = await writ(`calls ${id}`)
    assert.match(shown.out, /^State: +failed$/m)
    assert.match(shown.out, /^Effect now: +done$/m)
  })

  it('waits for the end of a call, and says what cannot be waited for', async () => {
    const { err } = await admin('call wait --set ms=300 --async')
    const shown = await admin(`calls ${idIn(err)} --wait 20s`)
    assert.equal(shown.code, 0)
    assert.match(shown.out, /State: +succeeded/)
    assert.equal((await admin('calls --wait 5s')).code, 2)
    assert.equal((await admin(`calls ${idIn(err)} --wait 10m`)).code, 2)
  })
})

describe('writ calls compensate', () => {
  it('S29: undoes what happened, and says what cannot be undone', async () => {
    const id = idIn((await writ('call book --set seat=7A')).err)
    h.moods.cancel = 'refuse'
    const failed = await writ(`calls compensate ${id}`)
    assert.equal(failed.code, 7)
    assert.match(failed.err, /failure: compensation-failed/)
    assert.match(failed.err, new RegExp(`writ calls settle ${id} --as undone --reason TEXT`))
    const shown = await writ(`calls ${id}`)
    assert.match(shown.out, /^Effect now: +compensation-failed$/m)
    assert.match(shown.out, /^Undone by: +\S+ \(try 1\)$/m)
    assert.match(shown.out, /^Not undone: +compensation-failed: .*not any more$/m)
    assert.match((await writ('calls unknown')).out, /compensation-failed .*compensate again/)
    h.moods.cancel = 'ok'
    const done = await writ(`calls compensate ${id}`)
    assert.deepEqual([done.code, done.out], [0, `${id} is undone\n`], done.err)
    assert.equal((await writ(`calls compensate ${id}`)).code, 3)
    assert.deepEqual(h.log, ['booked 7A', 'canceled 7A'])
  })

  it('S29: takes the word of a person for what was undone by hand', async () => {
    const id = idIn((await writ('call book --set seat=7B')).err)
    h.moods.cancel = 'refuse'
    await writ(`calls compensate ${id}`)
    const settled = await admin(`calls settle ${id} --as undone --reason 'canceled by telephone'`)
    assert.deepEqual([settled.code, settled.out], [0, `${id} is settled as undone\n`], settled.err)
    assert.match((await writ(`calls ${id}`)).out, /^Effect: +compensated$/m)
  })

  it('says of a committed call that is given up how to undo it', async () => {
    const { id, token } = preparedIn((await writ('call reserve')).err)
    await writ(`calls commit ${id} --token ${token}`)
    const back = await writ(`calls rollback ${id}`)
    assert.equal(back.code, 3)
    assert.match(back.err, /failure: commit-repeated/)
    assert.match(back.err, new RegExp(`Fix: it is committed; to undo it: writ calls compensate ${id}`))
  })
})

describe('writ saga', () => {
  it('S29: opens one, takes calls, and undoes them when it is aborted', async () => {
    const opened = await writ('saga open trip-1')
    assert.deepEqual([opened.code, opened.out], [0, 'trip-1\n'], opened.err)
    assert.equal((await writ('call book --set seat=8A --saga trip-1')).code, 0)
    const open = await writ('saga show trip-1')
    assert.equal(open.code, 5)
    assert.match(open.out, /State: +open/)
    assert.match(open.out, /book +invoke +done +-/)
    const aborted = await writ(`saga abort trip-1 --reason 'the hotel is full'`)
    assert.ok(aborted.code === 0 || aborted.code === 5, aborted.err)
    let shown = await writ('saga show trip-1')
    for (let turn = 0; turn < 500 && shown.code === 5; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      shown = await writ('saga show trip-1')
    }
    assert.equal(shown.code, 9)
    assert.match(shown.out, /Reason: +the hotel is full/)
    assert.deepEqual(h.log, ['booked 8A', 'canceled 8A'])
  })

  it('aborts one without a reason, and says what can be done about one that is blocked', async () => {
    await writ('saga open trip-2')
    await writ('call book --set seat=9A --saga trip-2')
    h.moods.cancel = 'refuse'
    let shown = await writ('saga abort trip-2')
    for (let turn = 0; turn < 500 && !/blocked/.test(shown.out); turn++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      shown = await writ('saga show trip-2')
    }
    for (const verb of ['abort', 'complete', 'open'])
      assert.match(shown.out, new RegExp(`^  writ saga ${verb} trip-2 {2,}\\w+`, 'm'))
    assert.equal((await writ('saga complete trip-2')).code, 0)
    const open = (await writ('saga open')).out.trim()
    const aborted = await writ(`saga abort ${open} -o json`)
    assert.equal(JSON.parse(aborted.out).reason, 'asked for by alice')
  })

  it('completes one, lists them by state, and finds none of others', async () => {
    const id = (await writ('saga open')).out.trim()
    const done = await writ(`saga complete ${id}`)
    assert.deepEqual([done.code, done.out], [0, `${id} is completed\n`])
    assert.equal((await writ(`saga show ${id}`)).code, 0)
    assert.match((await writ('saga list --state completed')).out, new RegExp(`^${id} +completed +alice`, 'm'))
    assert.equal((await writ('saga list', BOB)).out, 'No sagas.\n')
    assert.equal((await writ(`saga show ${id}`, BOB)).code, 7)
    assert.equal((await writ(`saga abort ${id} --reason x`)).code, 3)
    assert.equal((await writ(`saga open 'odd id'`)).code, 3)
    assert.equal((await writ('saga list --state shut')).code, 2)
    assert.equal((await writ('saga list --limit 0')).code, 2)
    assert.equal((await writ('call book --set seat=1 --saga x --dialect legacy')).code, 2)
    assert.equal((await writ('call book --set seat=1 --saga x --dialect four-outcome')).code, 2)
  })
})

describe('writ tool verify', () => {
  it('exits with 0 for a tool that keeps its word and 7 for one that does not', async () => {
    const kept = await writ('tool verify keyed --accept --input {}')
    assert.equal(kept.code, 0, kept.err)
    assert.match(kept.out, /^Verdict: +verified$/m)
    assert.equal((await writ('tool verify fickle --accept')).code, 7)
    assert.equal(JSON.parse((await writ('tool verify fickle --accept -o json')).out).verdict, 'refuted')
    const unaccepted = await writ('tool verify keyed')
    assert.equal(unaccepted.code, 3)
    assert.match(unaccepted.err, /Fix: .*accept/)
    assert.equal((await admin('tool verify no-such-tool')).code, 7)
  })
})
