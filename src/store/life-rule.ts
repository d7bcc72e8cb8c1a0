// What is said to a process life that another one has ended (S35).
import { Fenced } from './store.ts'

export function fenced(epoch: string): Fenced {
  return new Fenced(
    `another process has ended this one (life ${epoch}) and may have taken over what was under way: ` +
      'it may write nothing more; start it again',
  )
}
