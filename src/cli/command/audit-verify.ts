// writ audit verify: whether evidence is as it was written, from a file without any server, or from a server.
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { FAULT_KINDS, type Fault } from '../../ledger/audit-fault.ts'
import { type AuditPublicKey, readPublicKey } from '../../ledger/audit-key.ts'
import { linesOf } from '../../ledger/audit-line.ts'
import {
  type ExpectedHead,
  type Verdict,
  type VerifyOptions,
  verifyExport,
} from '../../ledger/audit-verify.ts'
import { readKeptHead } from '../../ledger/checkpoint.ts'
import { CliError, EXIT, usageError } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { clean, printResult, renderFields, type Style, styleOf } from '../print.ts'
import { withProgress } from '../progress.ts'
import { readLocalFile, unreadable } from '../read-file.ts'
import type { Terminal } from '../terminal.ts'

const MAX_KEPT_BYTES = 64 * 1024 * 1024

export const command = defineCommand({
  name: 'audit verify',
  summary: 'Verify evidence, offline or from a server',
  details: [
    'Every fault is named with its position: changed, missing, moved or added records, links, chains and checkpoints, bad signatures, unknown keys. The exit code is 0 when all is as it was written, and 7 when it is not.',
    'Without --head it says up to when it vouches: whether evidence was cut off after that, only a head that was kept elsewhere shows. With --head it trusts the key of that head, and keys that checkpoints list which it vouches for. With neither --head nor --key it trusts the keys that the export brings, so that somebody who can sign anew could replace all of it.',
  ],
  args: [
    {
      name: 'file',
      description:
        "An export; neither a server nor a data folder is needed. Without it, the server's own evidence is read.",
      optional: true,
    },
  ],
  flags: {
    head: {
      type: 'string',
      description:
        "A head that was kept: a file from 'writ audit head -o json', an anchor file, or the hash of a checkpoint.",
      placeholder: 'FILE|HASH',
      completes: 'file',
    },
    key: {
      type: 'string',
      description:
        'Trust this public key only: a file with PEM, with the base64 that audit head shows, or with a head.',
      placeholder: 'FILE',
      completes: 'file',
      multiple: true,
    },
    ...OUTPUT_FLAG,
    data: SERVER_FLAGS.data,
  },
  examples: [
    {
      line: 'writ audit verify evidence.jsonl --head head.json',
      does: 'Check an export against a head that was kept',
    },
    { line: 'writ audit verify', does: 'Check what the server has' },
  ],
  async run({ flags, args, terminal }) {
    const options: VerifyOptions = {
      head: flags.head === undefined ? undefined : readHead(terminal, flags.head),
      keys: flags.key.length === 0 ? undefined : flags.key.map((path) => readKey(terminal, path)),
    }
    const { file } = args
    const verdict = await withProgress(terminal, 'verifying', () =>
      file === undefined
        ? withClient(terminal, { data: flags.data, namespace: undefined }, (client) =>
            verifyExport(linesOf(client.auditExport()), options),
          )
        : verifyFile(terminal, file, options),
    )
    await printResult(terminal, flags.output, verdict, () =>
      render(verdict, flags.head !== undefined, styleOf(terminal)),
    )
    return verdict.ok ? EXIT.ok : EXIT.failed
  },
})

async function verifyFile(terminal: Terminal, path: string, options: VerifyOptions): Promise<Verdict> {
  const stream = createReadStream(resolve(terminal.cwd, path), { highWaterMark: 1024 * 1024 })
  try {
    return await verifyExport(linesOf(stream), options)
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) throw unreadable(path, error)
    throw error
  } finally {
    stream.destroy()
  }
}

function readHead(terminal: Terminal, given: string): ExpectedHead {
  if (/^[0-9a-f]{64}$/i.test(given)) return { hash: given.toLowerCase() }
  const head = lastHead(readText(terminal, given))
  if (head !== undefined) return head
  throw usageError(
    `${given} holds no head of evidence, or a damaged one`,
    "give a file from 'writ audit head -o json', an anchor file, or the 64 hex digits of a checkpoint's hash",
  )
}

/** One head, laid out in any way; or a line for each, where the last one is meant. */
function lastHead(text: string) {
  const whole = readKeptHead(text)
  if (whole !== undefined) return whole
  const last = text.trimEnd().split('\n').at(-1)
  return last === undefined ? undefined : readKeptHead(last)
}

function readKey(terminal: Terminal, path: string): AuditPublicKey {
  const text = readText(terminal, path)
  const key = readPublicKey(lastHead(text)?.public_key ?? text)
  if (key !== undefined) return key
  throw usageError(
    `${path} holds no Ed25519 public key`,
    'give PEM (BEGIN PUBLIC KEY), the base64 that audit head shows, or a file with a head',
  )
}

function readText(terminal: Terminal, path: string): string {
  try {
    return Buffer.from(readLocalFile(terminal.cwd, path, MAX_KEPT_BYTES)).toString('utf8')
  } catch (error) {
    // Whatever is wrong with a file that a flag names, the command line is to be changed.
    if (error instanceof CliError) throw usageError(error.message, error.fix ?? 'give another file')
    throw error
  }
}

function render(verdict: Verdict, withHead: boolean, style: Style): string {
  const { ok, vouched, dropped, unvouched_records: beyond } = verdict
  const counts = `${verdict.chains} chains, ${verdict.records} records, ${verdict.checkpoints} checkpoints`
  const lines = renderFields([
    ['Holds', counts],
    [
      'Dropped',
      dropped && `what was before checkpoint ${dropped.checkpoint}, of ${dropped.before}, by retention`,
    ],
    [
      'Vouched',
      vouched && `up to checkpoint ${vouched.checkpoint}, of ${vouched.until}, by key ${vouched.key_id}`,
    ],
    [
      'Not yet',
      beyond > 0 ? `${beyond} records after the last checkpoint are signed for by nobody` : undefined,
    ],
    ['Head', headText(verdict, withHead)],
  ])
  const more = verdict.fault_count - verdict.faults.length
  const faulty = verdict.fault_count === 1 ? '1 fault' : `${verdict.fault_count} faults`
  return `${ok ? style.good('intact') : style.bad(faulty)}\n${lines}${verdict.faults.map(faultText).join('')}${more > 0 ? `and ${more} more\n` : ''}`
}

function headText({ ok, head_found }: Verdict, withHead: boolean): string | undefined {
  if (withHead) return head_found ? 'the kept head is in it' : 'the kept head is not in it'
  return ok ? 'none given: whether anything was cut off after that, only a kept head shows' : undefined
}

function faultText({ kind, line, epoch, batch, seq, checkpoint, detail }: Fault): string {
  const place = Object.entries({ line, epoch, batch, seq, checkpoint })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')
  const at = place === '' ? '' : ` at ${place}`
  return `${clean(`${kind}${at}: ${FAULT_KINDS[kind]}: ${detail}`)}\n`
}
