/** A kind of setting: the address of an external service that this one calls. */
import { type Setting, text } from '../setting-kinds.ts'

const ADDRESS = /^$|^https:\/\/[\x21-\x7e]{1,2048}$|^http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/][\x21-\x7e]{0,2048}$/

/** An https address, http to this machine, or empty. Messages never quote a value with credentials. */
export function outsideAddress(common: {
  readonly initial: string
  readonly meaning: string
  readonly live?: true
}): Setting<string> {
  const address = text({
    ...common,
    accepts: 'an https address (http only on a loopback address) without user name and password',
    pattern: ADDRESS,
  })
  return {
    ...address,
    read(value) {
      const reading = address.read(value)
      if (typeof value !== 'string' || value === '') return reading
      const parsed = URL.canParse(value) ? new URL(value) : undefined
      const isAccepted = 'value' in reading && parsed !== undefined && parsed.username + parsed.password === ''
      if (isAccepted) return reading
      const what = value.includes('@') ? 'contains a user name or password, or is' : `is ${JSON.stringify(value)},`
      return { problems: [{ path: '', message: `${what} not ${address.accepts}` }] }
    },
  }
}
