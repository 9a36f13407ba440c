/** Reads the files of the settings `bus.*`, and checks that a start can read them. */
import { fileErrorText, readRegularFile } from '../../platform/base/regular-file.ts'
import type { Check, ConfigProblem } from '../config/problem-list.ts'
import type { Config } from '../config/settings.ts'
import type { Origins } from '../config/settings-in-force.ts'

/** Certificates and credentials are a few KiB. */
const FILE_BYTES_MAX = 1_048_576

const KEYS = ['bus.credentials_file', 'bus.tls.ca_file', 'bus.tls.cert_file', 'bus.tls.key_file'] as const

export function readBusFile(path: string): Uint8Array {
  return readRegularFile(path, FILE_BYTES_MAX)
}

/** @param origins where each value comes from: flag, variable, file or default */
export function checkBusFiles(config: Config, origins: Origins): Check {
  const problems = KEYS.flatMap((key): ConfigProblem[] => {
    if (config[key] === '') return []
    try {
      readBusFile(config[key])
      return []
    } catch (error) {
      const message = `names ${config[key]}, which cannot be read: ${fileErrorText(error)}`
      return [{ key, origin: origins[key], message }]
    }
  })
  return { problems, warnings: [] }
}
