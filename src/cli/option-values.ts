/** Readers of option values. What they throw, the command line reports with the option's name. */
import { InvalidArgumentError } from 'commander'

export function positiveInteger(text: string): number {
  if (!/^[1-9][0-9]{0,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 9999999.')
  return Number(text)
}
