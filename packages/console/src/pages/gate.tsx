/** The frame around login and setup. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

export function Gate({
  title,
  isOverlay = false,
  isNextStep = false,
  children,
}: {
  readonly title: string
  readonly isOverlay?: boolean
  /** The content replaces another step, whose focus is lost. Screen readers continue at its heading. */
  readonly isNextStep?: boolean
  readonly children: ComponentChildren
}) {
  const heading = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    if (isNextStep) heading.current?.focus()
  }, [isNextStep])
  const content = (
    <div class="gate-card">
      <p class="gate-brand">Tidegate</p>
      <h1 tabIndex={-1} ref={heading}>
        {title}
      </h1>
      {children}
    </div>
  )
  return isOverlay ? <GateDialog>{content}</GateDialog> : <main class="gate">{content}</main>
}

function GateDialog({ children }: { readonly children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => element.current?.showModal(), [])
  return (
    <dialog
      ref={element}
      class="gate-dialog"
      aria-label="Log in again"
      onCancel={(event) => event.preventDefault()}
      // A browser asks at the first Escape only, and closes it at the next.
      onClose={() => element.current?.showModal()}
    >
      {children}
    </dialog>
  )
}
