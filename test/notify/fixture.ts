// Approvals, receivers and a store with its timers, for the tests of notifications.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { Agent } from 'undici'
import type { Approval } from '../../src/contract/approval.ts'
import type { ApprovalEvent } from '../../src/contract/approval-event.ts'
import { createNotifyHandler } from '../../src/driver/notify.ts'
import { type DriverKit, startTimers } from '../../src/driver/timers.ts'
import { createEgress } from '../../src/egress/egress.ts'
import { createEvents, type EventMap } from '../../src/event/event.ts'
import type { ApprovalLinks } from '../../src/notify/approval-link.ts'
import type { Channel, WebhookChannel } from '../../src/notify/channel.ts'
import { createNotifier } from '../../src/notify/notifier.ts'
import { notifyTimers } from '../../src/notify/notify-timers.ts'
import { createMemoryData, type MemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { World } from '../../src/util/world.ts'

export const SECRET = 'a-secret-of-the-receiver-0123456789'
const HOUR = 3_600_000
/** The same for all: an approval never changes when it was made. */
const MADE_AT = Date.now()

export function makeApproval(over: Partial<Approval> = {}): Approval {
  return {
    namespace: 'default',
    id: '019a0000-0000-7000-8000-0000000000aa',
    state: 'pending',
    revision: 1,
    entryId: 'e-1',
    callId: 'c-1',
    requestId: 'r-1',
    requester: 'agent-7',
    requesterKind: 'agent',
    binding: {
      tool: 'pay',
      version: '1.2.3',
      digest: 'sha256:00',
      operation: 'send',
      payloadHash: 'sha256:11',
      policyVersion: 'p1',
      limits: { timeoutMs: 1000, maxAttempts: 1 },
    },
    operationClasses: ['write'],
    riskLevel: 'high',
    effectClass: 'irreversible',
    readOnly: false,
    reasons: ['the amount is above 100'],
    rules: [{ policyId: 'Tool/pay', policyVersion: 'v1', rule: 'approval_triggers[0]' }],
    needs: [{ role: 'treasurer', quorum: 1 }],
    shown: { inline: { to: 'bob', amount: 500 } },
    decisions: [],
    delegations: [],
    usedLinks: [],
    createdAt: MADE_AT,
    expiresAt: MADE_AT + HOUR,
    ...over,
  }
}

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Answering {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
}

/** A real HTTP server on loopback that keeps what it is sent, and answers as the test says. */
export async function startReceiver(
  t: TestContext,
  /** Undefined never answers. */
  answer: (received: Received, at: number) => Answering | undefined,
) {
  const received: Received[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      const one = { headers: request.headers, body }
      received.push(one)
      const said = answer(one, received.length)
      if (said !== undefined) response.writeHead(said.status, { ...said.headers }).end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    received,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?key=in-the-address`,
  }
}

export function webhookChannel(url: string, over: Partial<WebhookChannel> = {}): WebhookChannel {
  return {
    type: 'webhook',
    name: 'ops',
    target: 'ops',
    url,
    secret: SECRET,
    namespaces: ['default'],
    events: ['approval.requested', 'approval.voted', 'approval.approved', 'approval.denied', 'approval.used'],
    approvers: [],
    ...over,
  }
}

export interface Life {
  readonly store: Store
  readonly failures: EventMap['notify:failed'][]
  /** Writes the approval and its news in one write, as whoever changes an approval does. */
  tell(approval: Approval, event: ApprovalEvent): Promise<void>
  end(): Promise<void>
}

export interface LifeOptions {
  readonly world: World
  readonly store: Store
  readonly channels: readonly Channel[]
  readonly links?: ApprovalLinks
  /** False: it only writes. @default true */
  readonly handles?: boolean
}

/** A process that writes approvals and tells of them, as far as notifications go. */
export function startLife({ world, store, channels, links, handles = true }: LifeOptions): Life {
  const events = createEvents()
  const failures: EventMap['notify:failed'][] = []
  events.on('notify:failed', (event) => failures.push(event))
  const notifier = createNotifier({
    world,
    egress: createEgress({ world, reach: 'loopback' }),
    channels,
    ...(links === undefined ? {} : { links }),
  })
  const kit = { world, store, events } as DriverKit
  const loop = startTimers(kit, handles ? { notify: createNotifyHandler(notifier) } : {}, { idleMs: 5 })
  let ended: Promise<void> | undefined
  return {
    store,
    failures,
    end() {
      ended ??= loop.stop().then(() => store.close())
      return ended
    },
    async tell(approval, event) {
      const kind = approval.revision === 1 ? 'insert' : 'update'
      const written = await store.ledger.settle({
        namespace: approval.namespace,
        approval: { kind, approval },
        timers: notifyTimers(approval, event, world.clock.now(), channels),
      })
      if (written.kind !== 'written') throw new Error(`not written: ${JSON.stringify(written)}`)
    },
  }
}

/** Lives of processes over one store whose clock can be put forward. */
export function place(t: TestContext, data: MemoryData = createMemoryData()) {
  const clock = { skew: 0 }
  const network = new Agent()
  t.after(() => network.destroy())
  async function live(
    channels: readonly Channel[],
    options: Pick<LifeOptions, 'links' | 'handles'> = {},
  ): Promise<Life> {
    const system = createSystemWorld({ network })
    const now = () => system.clock.now() + clock.skew
    const world = { ...system, clock: { ...system.clock, now } }
    const store = await createMemoryStore({ world, data, now, leaseMs: 400 })
    const life = startLife({ world, store, channels, ...options })
    t.after(life.end)
    return life
  }
  return { live, clock }
}

/** What is in evidence of the call that the approvals here are about. */
export async function evidenceOf({ store }: Life) {
  return (await store.evidence.forCall('default', 'c-1')).filter(({ type }) =>
    type.startsWith('notification.'),
  )
}
