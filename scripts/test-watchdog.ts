// Loaded into every test process: a suite that leaves something open, or never ends, fails and says what it is.
// The runner's own time limit ends a test, not a process that stays alive after its last test.
import { after } from 'node:test'

const LINGER_MS = 5_000
const LIFE_MS = Number(process.env.WRIT_TEST_FILE_MS ?? 600_000)

function giveUp(why: string): void {
  const open = process.getActiveResourcesInfo().filter((kind) => kind !== 'PipeWrap' && kind !== 'TTYWrap')
  process.stderr.write(
    `${why}. Still open: ${open.join(', ') || 'nothing that Node can name'}. Fix: close it in after()\n`,
  )
  process.exit(1)
}

setTimeout(() => giveUp(`This test file ran for ${LIFE_MS} ms`), LIFE_MS).unref()
after(() => {
  setTimeout(
    () => giveUp(`All tests of this file ended ${LINGER_MS} ms ago, the process did not`),
    LINGER_MS,
  ).unref()
})
