/**
 * Short reports, announced to screen readers. Those of completed actions are gone after some seconds, the others when
 * the person dismisses them.
 */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { Icon } from './icons.tsx'

interface Toast {
  readonly id: number
  readonly content: ComponentChildren
  readonly tone: 'good' | 'bad'
}

const SHOWN_MILLISECONDS = 6_000

const toasts = signal<readonly Toast[]>([])
let lastId = 0

export function report(content: ComponentChildren, tone: Toast['tone'] = 'good'): void {
  const id = ++lastId
  toasts.value = [...toasts.value.slice(-2), { id, content, tone }]
  if (tone === 'good') setTimeout(() => remove(id), SHOWN_MILLISECONDS)
}

function remove(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id)
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, content, tone }) => (
        <div key={id} class={`toast ${tone}`}>
          <Icon name={tone === 'good' ? 'check' : 'warning'} />
          <span>{content}</span>
          <button type="button" class="bare" aria-label="Dismiss" onClick={() => remove(id)}>
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
    </div>
  )
}
