/** The settings for the service's own recordings. */
import { integer, text } from '../setting-kinds.ts'

/** A year. */
const KEEP_HOURS_MAX = 8_784

export const RECORDING_SETTINGS = {
  'recording.dir': text({
    initial: '',
    meaning: 'folder for recordings of published market data, one file per hour. Empty = off',
    accepts: 'a path',
    pattern: /^[^\0]{0,4096}$/,
  }),
  'recording.keep_hours': integer({
    initial: 168,
    min: 1,
    max: KEEP_HOURS_MAX,
    live: true,
    meaning: 'hours a recording is kept after its hour’s end',
  }),
} as const
