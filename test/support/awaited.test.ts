/** Waits in vain, with what each reports. */
import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { awaited, once, until } from './awaited.ts'

test('a wait in vain rejects with a sentence that names what is missing', async () => {
  const never = new Promise(() => undefined)
  await expect(once(new EventEmitter(), 'open', 1)).rejects.toThrow(
    'waited 1 ms in vain for: the event open of EventEmitter',
  )
  await expect(awaited('the reply', never, 1)).rejects.toThrow('waited 1 ms in vain for: the reply')
  await expect(until('a level', () => false, undefined, 1)).rejects.toThrow('waited 1 ms in vain for: a level')
})

test('a wait ends with the event, the value or the condition', async () => {
  const emitter = new EventEmitter()
  const heard = once(emitter, 'open')
  emitter.emit('open', 7)
  expect(await heard).toEqual([7])
  expect(await awaited('a value', Promise.resolve(8))).toBe(8)
  let steps = 0
  await until(
    'three steps',
    () => steps === 3,
    () => steps++,
  )
  expect(steps).toBe(3)
})

test('a wait passes on the error of its emitter or promise', async () => {
  const emitter = new EventEmitter()
  const heard = once(emitter, 'open')
  emitter.emit('error', new Error('refused'))
  await expect(heard).rejects.toThrow('refused')
  await expect(awaited('a value', Promise.reject(new Error('lost')))).rejects.toThrow('lost')
})
