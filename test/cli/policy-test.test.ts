// writ policy test as a real process: cases hold or fail with the reason, and bad files are named by line.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runWrit } from './writ-process.ts'

const MANIFESTS = `
apiVersion: writ.dev/v1
kind: Tool
metadata: { name: pay }
spec:
  type: http
  version: 1.0.0
  endpoint: http://127.0.0.1:9/
  input_schema:
    type: object
    properties: { amount: { type: number }, to: { type: string } }
    required: [amount]
    additionalProperties: false
  effect: { class: external-communication }
---
apiVersion: writ.dev/v1
kind: AgentRole
metadata: { name: payer }
spec: { permissions: ['tool:pay:invoke'] }
---
apiVersion: writ.dev/v1
kind: AgentPolicy
metadata: { name: payments }
spec:
  apply_mode: global
  rules:
    - { tools: [pay], when: [{ field: /amount, op: gt, value: 1000 }], decision: deny, reason: nothing over 1000 }
    - { tools: [pay], when: [{ field: /amount, op: gt, value: 100 }], decision: require-approval }
  transforms:
    - { tools: [pay], when: [{ field: /to, op: eq, value: charity }], clamp: { field: /amount, max: 20 } }
  cedar: |
    @reason("payments are for the day")
    forbid (principal, action, resource == Writ::Tool::"pay") when { context.time.hour < 6 };
`

const GOOD = `
name: payments
manifests: [policy.yaml]
cases:
  - name: small payments pass
    caller: &payer { actor: agent-1, kind: agent, roles: [payer] }
    call: { tool: pay, input: { amount: 10 } }
    at: 2026-03-02T12:00:00Z
    expect: allow
    sends: { amount: 10 }
  - name: large ones wait
    caller: *payer
    call: { tool: pay, input: { amount: 500 } }
    at: 2026-03-02T12:00:00Z
    expect: require-approval
    code: policy-approval
  - name: charity is bounded
    caller: *payer
    call: { tool: pay, input: { amount: 90, to: charity } }
    at: 2026-03-02T12:00:00Z
    expect: transform
    sends: { to: charity, amount: 20 }
  - name: nobody pays at night
    caller: *payer
    call: { tool: pay, input: { amount: 10 } }
    at: 2026-03-02T03:00:00Z
    expect: deny
    code: cedar-denied
  - name: without the role nobody pays
    caller: { actor: agent-2, kind: agent }
    call: { tool: pay, input: { amount: 10 } }
    expect: deny
    code: permission-missing
  - name: a role that does not exist denies
    caller: { actor: agent-2, roles: [ghost] }
    call: { tool: pay, input: { amount: 10 } }
    expect: deny
    code: role-missing
  - name: what is invalid is no decision
    caller: *payer
    call: { tool: pay, input: { amount: lots } }
    expect: error
    code: input-invalid
`

let cwd: string
before(() => {
  cwd = mkdtempSync(join(tmpdir(), 'writ-policy-test-'))
  writeFileSync(join(cwd, 'policy.yaml'), MANIFESTS)
})
after(() => rmSync(cwd, { recursive: true }))

function write(name: string, text: string): string {
  writeFileSync(join(cwd, name), text)
  return name
}
const test = (...args: string[]) => runWrit(['policy', 'test', ...args], { cwd })

describe('writ policy test', () => {
  it('exits with 0 when every case holds, each at its own time', async () => {
    const { code, out, err } = await test(write('good.yaml', GOOD))
    assert.deepEqual([code, out], [0, '7 cases, all hold\n'], `${out}${err}`)
  })

  it('exits with 7 and shows each case that fails with what decided', async () => {
    const bad = GOOD.replace('expect: require-approval', 'expect: allow').replace(
      'sends: { to: charity, amount: 20 }',
      'sends: { to: charity, amount: 30 }',
    )
    const { code, out } = await test(write('bad.yaml', bad), write('good.yaml', GOOD))
    assert.equal(code, 7, out)
    assert.match(out, /^failed bad\.yaml:11: large ones wait$/m)
    assert.match(out, /^ {2}is require-approval, but allow is expected$/m)
    assert.match(out, /^ {4}require-approval +AgentPolicy\/payments rules\[1\] /m)
    assert.match(out, /would send \{"amount":20,"to":"charity"\}|would send \{"to":"charity","amount":20\}/)
    assert.match(out, /^14 cases, 2 failed$/m)
    const json = await test('bad.yaml', '-o', 'json')
    assert.equal(json.code, 7)
    const report = JSON.parse(json.out)
    assert.deepEqual([report.ok, report.cases, report.failed], [false, 7, 2])
    assert.deepEqual(
      report.files[0].cases.map(({ ok }: { ok: boolean }) => ok),
      [true, false, false, true, true, true, true],
    )
  })

  it('says by line what is wrong with a file of cases, and runs nothing', async () => {
    for (const [text, wrong] of [
      ['manifests: [policy.yaml]\n', /1:1: error:.*cases/],
      ['manifests: []\ncases: []\n', /1:\d+: error: manifests/],
      [GOOD.replace('expect: transform', 'expect: maybe'), /good-bad\.yaml:21:13: error: cases\[2\]\.expect/],
      [GOOD.replace('code: cedar-denied', 'coed: cedar-denied'), /cases\[3\]\.coed.*did you mean.*code/],
      [GOOD.replace('2026-03-02T03:00:00Z', 'tonight'), /cases\[3\]\.at: is no time/],
      [GOOD.replace('roles: [ghost]', 'rolls: [ghost]'), /caller\.rolls/],
      ['cases: [', /error/],
    ] as const) {
      const { code, out, err } = await test(write('good-bad.yaml', text))
      assert.equal(code, 3, `${out}${err}`)
      assert.match(err, wrong)
      assert.equal(out, '')
    }
    assert.equal((await test()).code, 2)
    assert.equal((await test('absent.yaml')).code, 2)
  })

  it('lets no case hold because a tool or a role is misspelled', async () => {
    const text = `
manifests: [policy.yaml]
cases:
  - { name: a, caller: { actor: x, roles: [payer] }, call: { tool: pai }, expect: deny }
  - { name: b, caller: { actor: x, roles: [paier] }, call: { tool: pay }, expect: deny }
`
    const { code, out, err } = await test(write('misnamed.yaml', text))
    assert.deepEqual([code, out], [3, ''], err)
    assert.match(
      err,
      /misnamed\.yaml:4:\d+: error: cases\[0\]\.call\.tool: no Tool 'pai' .* Fix: did you mean pay\?$/m,
    )
    assert.match(
      err,
      /misnamed\.yaml:5:\d+: error: cases\[1\]\.caller\.roles\[0\]: .* Fix: did you mean payer\?$/m,
    )
  })

  it('says by line what is wrong with the manifests', async () => {
    writeFileSync(join(cwd, 'broken.yaml'), MANIFESTS.replace('decision: deny', 'decision: never'))
    const { code, err } = await test(write('other.yaml', GOOD.replace('policy.yaml', 'broken.yaml')))
    assert.equal(code, 3)
    assert.match(err, /broken\.yaml:\d+:\d+: error: spec\.rules\[0\]\.decision/)
    const absent = await test(write('other.yaml', GOOD.replace('policy.yaml', 'gone.yaml')))
    assert.equal(absent.code, 2)
    assert.match(absent.err, /gone\.yaml cannot be read/)
  })
})
