/** Reads JSON from outside the program, without assuming anything about it. Pure. */

/** A JSON object whose members have not been checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a value is an object and not an array or null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An object's members. Any other value has none. */
export function membersOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

/** The parsed value, or undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
