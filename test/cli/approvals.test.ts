// The commands with which people decide, grant and freeze, against a real server: what they print, how they exit (S32).
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import {
  AGENT,
  ANNA,
  BEN,
  type GovernanceHarness,
  OPS,
  startGovernanceHarness,
} from '../server/governance-harness.ts'
import { TOKEN } from '../server/harness.ts'
import { type ServerCommands, serverCommands } from './server-commands.ts'
import { spawnWrit } from './writ-process.ts'

let commands: ServerCommands<GovernanceHarness>
let h: GovernanceHarness
before(async () => {
  h = await startGovernanceHarness()
  commands = serverCommands(h)
})
after(() => commands.close())
beforeEach(() => {
  h.transferred.length = 0
})

const env = (token: string) => ({ WRIT_URL: h.url, WRIT_TOKEN: token })
const writ = (line: string, token = ANNA, options = {}) =>
  commands.writ(line, { env: env(token), ...options })

describe('writ approvals', () => {
  it('lists what waits, and shows one with everything that matters to whoever decides', async () => {
    const { approval, call } = await h.suspend()
    const list = await writ('approvals --tool transfer')
    assert.equal(list.code, 0, list.err)
    assert.match(list.out, /^ID +STATE +TOOL +OPERATION +RISK +REQUESTER +NEEDS +LEFT +REASON$/m)
    assert.match(
      list.out,
      new RegExp(`^${approval} +pending +transfer +\\S+ +\\S+ +agent-1 +1 approver +\\d+m left`, 'm'),
    )
    const shown = await writ(`approvals show ${approval}`)
    assert.equal(shown.code, 5, 'it waits')
    assert.match(shown.out, /^Requester: +agent-1 \(agent\)$/m)
    assert.match(shown.out, new RegExp(`^Call: +${call}$`, 'm'))
    assert.match(shown.out, /"amount": 500/)
    assert.doesNotMatch(shown.out, /1234-secret/)
    assert.match(shown.out, new RegExp(`writ approve ${approval}`))
    const data = JSON.parse((await writ(`approvals show ${approval} -o json`)).out)
    assert.equal(data.id, approval)
    assert.equal((await writ('approvals --state all -o json')).code, 0)
    assert.equal((await writ('approvals --tool nothing')).out, 'No approvals.\n')
  })

  it('S45: approve lets the call run; the requester cannot; deny needs a reason', async () => {
    const { approval, call } = await h.suspend()
    const own = await writ(`approve ${approval}`, AGENT)
    assert.equal(own.code, 4)
    assert.match(own.err, /failure: approval-self/)
    const agreed = await writ(`approve ${approval} --comment 'checked twice'`)
    assert.equal(agreed.code, 0, agreed.err)
    assert.match(agreed.out, new RegExp(`^${approval} is approved$`, 'm'))
    assert.match(agreed.err, new RegExp(`writ calls ${call} --wait`))
    assert.equal((await writ(`calls ${call} --wait 20s`, AGENT)).code, 0)
    assert.deepEqual(h.transferred, [500])
    const shown = await writ(`approvals show ${approval}`)
    assert.equal(shown.code, 0)
    assert.match(shown.out, /^Decided: +approved by anna, .*: checked twice$/m)
    assert.equal((await writ(`deny ${approval} --reason late`)).code, 3, 'it is over')
  })

  it('deny, delegate and override', async () => {
    const { approval, call } = await h.suspend()
    assert.equal((await writ(`deny ${approval}`)).code, 2)
    assert.equal((await writ(`approvals delegate ${approval}`)).code, 2)
    const handed = await writ(`approvals delegate ${approval} --to nobody`)
    assert.equal(handed.out, `${approval} may now be decided by nobody\n`)
    const denied = await writ(`deny ${approval} --reason 'not our supplier'`, BEN)
    assert.deepEqual([denied.code, denied.out], [0, `${approval} is denied\n`], denied.err)
    assert.equal((await writ(`calls ${call} --wait 20s`, AGENT)).code, 4)
    assert.equal((await writ(`approvals show ${approval}`)).code, 4)
    const lacks = await writ(`approvals override ${approval} --reason 'a mistake'`)
    assert.equal(lacks.code, 4)
    assert.match(lacks.err, /approval:override/)
    const overridden = await commands.writ(`approvals override ${approval} --reason 'a mistake'`)
    assert.equal(overridden.code, 0, overridden.err)
    assert.equal((await writ('approvals show 0193a1b2-0000-7000-8000-000000000000')).code, 7)
  })

  it('shows what differs from the last that was agreed to, in colour on a terminal alone', async () => {
    const first = await h.suspend({ to: 'acme', amount: 300 })
    await writ(`approve ${first.approval}`)
    await writ(`calls ${first.call} --wait 20s`, AGENT)
    const { approval } = await h.suspend({ to: 'acme', amount: 30_000 })
    const plain = await writ(`approvals show ${approval}`)
    assert.match(plain.out, /^- \/amount: 300$\n^\+ \/amount: 30000$/m)
    const coloured = await writ(`approvals show ${approval}`, ANNA, { outIsTty: true })
    assert.ok(coloured.out.includes('\u001b[31m- /amount: 300\u001b[0m'))
    assert.ok(coloured.out.includes('\u001b[32m+ /amount: 30000\u001b[0m'))
  })

  it('what a model writes cannot move the cursor of whoever decides', async () => {
    const { approval } = await h.suspend({ to: 'acme\u001b[2J\u202e', amount: 400 })
    const shown = await writ(`approvals show ${approval}`, ANNA, {
      outIsTty: true,
      env: { ...env(ANNA), NO_COLOR: '1' },
    })
    for (const mark of ['\u001b', '\u202e']) assert.ok(!shown.out.includes(mark))
  })

  it('refuses a line that makes no sense', async () => {
    for (const line of [
      'approvals --limit 0',
      'approvals --state open',
      'approvals --watch --cursor x',
      'approvals --watch -o yaml',
      'approvals shwo x',
      'approvals show',
      'approve',
    ]) {
      assert.equal((await writ(line)).code, 2, line)
    }
    assert.equal((await writ('approvals --cursor abc')).code, 3)
  })

  it('a call that waits says how to see what is asked', async () => {
    const { code, err } = await writ('call transfer --set to=acme --set amount=500', AGENT)
    assert.equal(code, 5)
    assert.match(err, /^See what is asked: writ approvals show [0-9a-f-]{36}$/m)
  })
})

describe('writ approvals --watch', () => {
  it('streams what appears and changes to a program, and ends on Ctrl-C', async (t) => {
    const watch = spawnWrit(['approvals', '--watch', '--state', 'all', '-o', 'json'], {
      cwd: commands.cwd,
      env: env(ANNA),
    })
    t.after(() => watch.child.kill('SIGKILL'))
    const { approval } = await h.suspend({ to: 'watch', amount: 4711 })
    await watch.until(new RegExp(`"id":"${approval}".*"state":"pending"`))
    await writ(`deny ${approval} --reason no`)
    await watch.until(new RegExp(`"id":"${approval}".*"state":"denied"`))
    watch.child.kill('SIGINT')
    const { code, err } = await watch.ended
    assert.deepEqual([code, err], [0, ''])
    const lines = watch.written.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.equal(lines.filter(({ id }) => id === approval).length, 2, 'once for each change')
  })

  it('ends with an error where the server refuses', async () => {
    const watch = spawnWrit(['approvals', '--watch'], { cwd: commands.cwd, env: env('wrong') })
    const { code, err } = await watch.ended
    assert.equal(code, 4)
    assert.match(err, /Fix: set WRIT_TOKEN/)
  })
})

describe('writ grant', () => {
  it('makes one, lists it with its uses, and takes it back', async () => {
    const made = await writ(
      `grant create --tool transfer --where '/amount<200' --where '/to="acme"' --for 1h --max-uses 3 --reason petty`,
    )
    assert.equal(made.code, 0, made.err)
    const id = made.out.trim()
    assert.match(made.err, /^Until \S+: transfer \S+, \/amount<200 and \/to="acme"$/m)
    assert.equal((await writ('call transfer --set to=acme --set amount=150', AGENT)).code, 0)
    assert.equal((await writ('call transfer --set to=globex --set amount=150', AGENT)).code, 5)
    const list = await writ('grant list')
    assert.match(list.out, new RegExp(`^${id} +transfer .* 1 of 3 +\\d+m +anna$`, 'm'))
    assert.equal((await writ(`grant end ${id} --reason enough`)).out, `${id} is over\n`)
    assert.equal((await writ(`grant end ${id}`)).code, 7)
    assert.equal((await writ('grant list')).out, 'No grants.\n')
    assert.equal((await writ('call transfer --set to=acme --set amount=150', AGENT)).code, 5)
  })

  it('reads conditions as people write them, and refuses what is none', async () => {
    for (const where of ['amount<5', '/amount', '/amount~5', '/amount<', '/to in', '/~2=1', '5']) {
      const { code, err } = await writ(`grant create --tool transfer --for 1h --where '${where}'`)
      assert.equal(code, 2, `${where}: ${err}`)
      assert.match(err, /Fix: write/)
    }
    for (const line of [
      'grant create --for 1h',
      'grant create --tool transfer',
      'grant create --tool transfer --for soon',
    ])
      assert.equal((await writ(line)).code, 2, line)
    assert.equal((await writ(`grant create --tool transfer --for 1h --where '/amount in 5'`)).code, 3)
    assert.equal((await writ('grant create --tool transfer --for 1h', BEN)).code, 4)
    const slip = 'grant create --tool trasnfer --for 1h'
    assert.match((await writ(slip, TOKEN)).err, /^Fix: did you mean 'transfer'\?$/m)
    assert.match((await writ(slip)).err, /^Fix: Check the name/m, 'she may not see names')
    const made = JSON.parse(
      (
        await writ(
          `grant create --tool transfer --for 5m --where '/to in ["a","b"]' --where '/pin exists' --where '/to!=c d' --where '/to in_domain ["example.com"]' -o json`,
        )
      ).out,
    )
    assert.deepEqual(made.when, [
      { field: '/to', op: 'in', value: ['a', 'b'] },
      { field: '/pin', op: 'exists' },
      { field: '/to', op: 'ne', value: 'c d' },
      { field: '/to', op: 'in_domain', value: ['example.com'] },
    ])
  })
})

describe('writ freeze and thaw', () => {
  it('S44: stops a tool and a caller, lists them, and lets them go on', async () => {
    const frozen = await writ(`freeze tool transfer --reason 'wrong amounts'`, OPS)
    assert.deepEqual([frozen.code, frozen.out], [0, 'tool transfer is frozen\n'], frozen.err)
    const refused = await writ('call transfer --set to=a --set amount=5', AGENT)
    assert.equal(refused.code, 4)
    assert.match(refused.err, /^frozen: tool \S+ is stopped: wrong amounts$/m)
    assert.equal((await writ(`freeze caller agent-1 --reason loops --in-flight end`, OPS)).code, 0)
    const list = await writ('freeze list', OPS)
    assert.match(list.out, /^tool +transfer +default +finish +ops +\d+s +wrong amounts$/m)
    assert.match(list.out, /^caller +agent-1 +default +end +ops +\d+s +loops$/m)
    assert.equal((await writ('thaw caller agent-1 --reason ok', OPS)).code, 0)
    assert.equal((await writ('thaw tool transfer --reason fixed', OPS)).out, 'tool transfer is thawed\n')
    assert.equal((await writ('thaw tool transfer --reason fixed', OPS)).code, 7)
    assert.equal((await writ('freeze list', OPS)).out, 'Nothing is frozen.\n')
    assert.equal((await writ('call transfer --set to=a --set amount=5', AGENT)).code, 0)
  })

  it('refuses a line that makes no sense, and who may not', async () => {
    for (const line of [
      'freeze',
      'freeze tool --reason x',
      'freeze tool transfer',
      'freeze all everything --reason x',
      'freeze namespace default --reason x',
      'freeze planet mars --reason x',
      'freeze tool transfer --reason x --in-flight kill',
      'thaw tool transfer',
    ]) {
      assert.equal((await writ(line, OPS)).code, 2, line)
    }
    assert.equal((await writ('freeze tool transfer --reason x')).code, 4)
    assert.equal((await writ('freeze all --reason x', OPS)).code, 4)
    const all = await commands.writ('freeze all --reason incident')
    assert.equal(all.out, 'everything is frozen\n')
    assert.equal((await writ('call look', AGENT)).code, 4)
    assert.equal((await commands.writ('thaw all --reason over')).code, 0)
    assert.equal((await writ('call look', AGENT)).code, 0)
  })
})

describe('writ approve, where two have to agree', () => {
  it('S45: exits with 5 until all have, and nobody counts twice', async () => {
    const policy = `
apiVersion: writ.dev/v1
kind: AgentPolicy
metadata: { name: four-eyes }
spec:
  apply_mode: global
  rules: [{ tools: [look], decision: require-approval, reason: four eyes }]
  approval: { quorum: 2 }
`
    const applied = await h.runtime.resources.apply([{ text: policy, file: 'policy.yaml' }])
    assert.equal(applied.ok, true, JSON.stringify(applied.problems))
    const asked = await writ('call look -o json', AGENT)
    const id = JSON.parse(asked.out).error.details.approval_id
    assert.match((await writ('approvals --tool look')).out, / 2 approvers /)
    const first = await writ(`approve ${id}`)
    assert.deepEqual(
      [first.code, first.out],
      [5, `${id} counts your decision and waits for more\n`],
      first.err,
    )
    const twice = await writ(`approve ${id}`)
    assert.equal(twice.code, 4)
    assert.match(twice.err, /code: approver-decided/)
    assert.equal((await writ(`approve ${id}`, BEN)).code, 0)
  })
})
