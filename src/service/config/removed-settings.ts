/**
 * The previous release's keys, with their replacements. A configuration with such a key still starts: the value is
 * ignored, and a warning names the key. The next release rejects them as unknown.
 */
export const REMOVED_SETTINGS: Readonly<Record<string, string>> = {
  'auth.signing_key_days': 'signing keys rotate after 90 days',
  'rest.unread_bytes_per_client_max': 'the limit is 16 MiB',
  'rest.unread_bytes_max': 'the limit is 128 MiB',
  'rest.read_bytes_per_second_min': 'the limit is 16 KiB per second',
}

export function isRemoved(key: string): boolean {
  return Object.hasOwn(REMOVED_SETTINGS, key)
}

export function removedText(key: string, origin: string): string {
  return `${key} (from ${origin}) is no longer a setting and is ignored: ${REMOVED_SETTINGS[key]}`
}
