// A process that tells of approvals from a database file, until it is killed.

import { createWorld } from '../../src/runtime.ts'
import { createSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { makeApproval, startLife, webhookChannel } from './fixture.ts'

const [path = '', url = '', made = ''] = process.argv.slice(2)
const world = createWorld()
const store = await createSqliteStore({ world, path, onFailed: () => process.exit(1) })
const life = startLife({ world, store, channels: [webhookChannel(url)] })
const approval = makeApproval({ createdAt: Number(made), expiresAt: Number(made) + 1 })
await life.tell(approval, 'approval.requested')
await life.tell({ ...approval, state: 'denied', revision: 2 }, 'approval.denied')
