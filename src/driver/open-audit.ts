// Puts the audit of one store together: its key, its anchor, the look whether the store was set back, and checkpoints.
import { CONTRACT_REVISION } from '../contract/version.ts'
import { createEgress, type EgressOptions } from '../egress/egress.ts'
import type { Events } from '../event/event.ts'
import { type AnchorTarget, createAnchor, joinAnchors } from '../ledger/anchor.ts'
import { anchorFile, headFile, lastKeptHead, webhook } from '../ledger/anchor-target.ts'
import { exportEvidence } from '../ledger/audit-export.ts'
import { type AuditKey, makeKeyText, readAuditKey } from '../ledger/audit-key.ts'
import { openKeyFile } from '../ledger/audit-key-file.ts'
import { describeRewind, findRewind, type Rewound, rewindBody } from '../ledger/audit-rewind.ts'
import type { CheckpointRow, NewEvidence, Store } from '../store/store.ts'
import type { JsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'
import { createCheckpoints } from './checkpoints.ts'

export interface AuditOptions {
  /**
   * Signs checkpoints: a file that is there; or one that is made where it is not; or a key in PEM form.
   * @default beside the database file of SQLite; else a new one for each life
   */
  readonly key?: { readonly file: string; readonly make?: boolean } | { readonly pem: string }
  /**
   * A file with the newest checkpoint, which the store is held to at the next start. It comes beside any anchor.
   * @default beside the database file of SQLite; else none
   */
  readonly headFile?: string
  /** Where checkpoints are kept outside the store as well: all in a file, or each sent to an address. @default nowhere */
  readonly anchor?: { readonly file: string } | { readonly webhook: string }
  /** Start although the store was set back behind what is kept of it; that is put into evidence. @default false */
  readonly acceptRewound?: boolean
}

/** What the composition knows beside it. */
export interface AuditSurroundings {
  /** How far in the anchor may lie. */
  readonly reach?: NonNullable<EgressOptions['reach']>
}

/** What holds for every record of a life. */
export interface AuditConstants {
  readonly profile: string
  readonly retention: JsonObject
}

export interface Audit {
  /** The last signed checkpoint, made now where records came since. */
  head(): Promise<(CheckpointRow & { readonly publicKey: string }) | undefined>
  export(): AsyncIterable<string>
  /** Drops evidence from before `before`, about `limit` rows at a time; 0 means that none is left. */
  prune(before: number, limit: number): Promise<number>
  /** Whether checkpoints are kept where they should be. Never a reason to take no calls. */
  readonly health: { readonly ok: boolean; readonly detail: string }
  /** Makes the last checkpoint and hands it over. Comes before the life ends. */
  close(): Promise<void>
}

/** Throws when the store was set back, in words for whoever starts it. */
export async function openAudit(
  world: World,
  store: Store,
  events: Events,
  options: AuditOptions & AuditSurroundings,
  constants?: AuditConstants,
): Promise<Audit> {
  const key = openKey(options.key)
  await refuseRewound(world, store, events, options)
  if (constants !== undefined) noteConstants(world, store, key, constants)
  const anchor = joinAnchors(targetsOf(world, options).map((target) => createAnchor(world, events, target)))
  const checkpoints = createCheckpoints({ world, store, events, key, anchor })
  return {
    async head() {
      const { head, keys } = await checkpoints.vouched()
      // Another process may have signed it, with a key of its own.
      return head && { ...head, publicKey: keys[head.keyId] ?? '' }
    },
    export: () =>
      checkpoints.hold(async function* () {
        yield* exportEvidence({ world, evidence: store.evidence, ...(await checkpoints.vouched()) })
      }),
    prune: checkpoints.prune,
    get health() {
      return { ok: anchor.problem === undefined, detail: anchor.problem ?? 'ok' }
    },
    close: checkpoints.stop,
  }
}

/** Once per life, and not in each record. */
function noteConstants(
  world: World,
  store: Store,
  key: AuditKey,
  { profile, retention }: AuditConstants,
): void {
  const body = {
    contract_version: CONTRACT_REVISION,
    profile,
    audit_key_id: key.keyId,
    retention_policy: retention,
    redaction: 'payloads are kept as hashes; audit_fields are copied after write-only fields are masked',
  }
  const type = 'runtime.configured'
  const record: NewEvidence = { namespace: '', callId: '', type, at: world.clock.now(), body }
  store.ledger.note({ namespace: '', evidence: [record] }).catch(() => {
    // The store has failed, and says so itself.
  })
}

function openKey(choice: AuditOptions['key']): AuditKey {
  if (choice === undefined) return readAuditKey(makeKeyText())
  if ('pem' in choice) return readAuditKey(choice.pem)
  return openKeyFile(choice.file, { make: choice.make === true })
}

function targetsOf(
  world: World,
  { headFile: path, anchor, reach = 'public' }: AuditOptions & AuditSurroundings,
): readonly AnchorTarget[] {
  const targets = path === undefined ? [] : [headFile(path)]
  if (anchor === undefined) return targets
  return [
    ...targets,
    'webhook' in anchor ? webhook(createEgress({ world, reach }), anchor.webhook) : anchorFile(anchor.file),
  ]
}

async function refuseRewound(
  world: World,
  store: Store,
  events: Events,
  { headFile: path, anchor, acceptRewound = false }: AuditOptions,
): Promise<void> {
  // What ends with the process is empty at every start.
  if (!store.durable) return
  const rewound = await findWorst(store, [path, anchor && 'file' in anchor ? anchor.file : undefined])
  if (rewound === undefined) return
  if (!acceptRewound) throw new Error(describeRewind(rewound))
  const at = world.clock.now()
  const type = 'audit.rewound-accepted'
  const record: NewEvidence = { namespace: '', callId: '', type, at, body: rewindBody(rewound) }
  await store.ledger.intend({ namespace: '', evidence: [record] })
  events.emit('audit:rewound', { message: rewound.why })
}

/** A file may be behind, or have been set back with the store: the newest checkpoint that the store lacks says the most. */
async function findWorst(store: Store, files: readonly (string | undefined)[]): Promise<Rewound | undefined> {
  let worst: Rewound | undefined
  for (const file of files) {
    const kept = file === undefined ? undefined : lastKeptHead(file)
    const rewound = kept && (await findRewind(store.evidence, kept))
    if (rewound !== undefined && rewound.kept.number > (worst?.kept.number ?? 0)) worst = rewound
  }
  return worst
}
