// What an error of the database, or of the way to it, means for whoever has to go on.
import pg from 'pg'
import { IllegalWrite, StoreUnavailable } from '../store.ts'

/** The five characters that PostgreSQL gives every error; empty where it said nothing. */
export function sqlState(error: unknown): string {
  return error instanceof pg.DatabaseError ? (error.code ?? '') : ''
}

/** The statement itself was at fault: a value that the schema does not take, a rule that it breaks. */
export function isOwnFault(error: unknown): boolean {
  return /^(22|23|54)/.test(sqlState(error))
}

/** Two transactions met, and this one was the victim: the same again will do. */
export function isVictim(error: unknown): boolean {
  return error instanceof Restart || /^(40001|40P01)$/.test(sqlState(error))
}

/** Nothing that time mends: the tables are not those of this build, or it may not use them. */
export function isWrongSchema(error: unknown): boolean {
  return sqlState(error).startsWith('42')
}

/** The connection can no longer be used: it broke, timed out, or the server ended it. */
export function isLost(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== '') return /^(08|57P|25P03|25006|XX)/.test(state)
  // Broken sockets and timeouts come as plain errors. What else comes without a state is a bug, or has its own meaning.
  return error instanceof Error && !OWN_KINDS.some((kind) => error instanceof kind)
}

const OWN_KINDS = [TypeError, RangeError, SyntaxError, ReferenceError, StoreUnavailable, IllegalWrite]

/** A statement took too long: the server stands still, or has more to do than it can. */
export function isTimeout(error: unknown): boolean {
  return sqlState(error) === '57014' || (error instanceof Error && error.message === 'Query read timeout')
}

/** What was read at the beginning of a transaction has changed under it. */
export class Restart extends Error {
  override readonly name = 'Restart'
}

/** What `text` of the database's own is safe to show: its errors name hosts and users, never a password. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}
