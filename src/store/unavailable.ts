// What to do about a store that fails where nothing hangs on it: it makes itself known, and only a bug goes on.
import { StoreUnavailable } from './store.ts'

/** For `catch`: a store that is away or has failed is no fault of whoever asked it. Anything else is thrown on. */
export function onlyUnavailable(error: unknown): undefined {
  if (!(error instanceof StoreUnavailable)) throw error
}
