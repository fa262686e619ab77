import { useSignal } from "@preact/signals";

/** Copies a command. Browsers allow that only on https and localhost: elsewhere the text is selected for Ctrl-C. */
export function CopyButton({ text }: { text: string }) {
  const outcome = useSignal("Copy");
  const copy = async (button: HTMLButtonElement): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      outcome.value = "Copied";
    } catch {
      const code = button.parentElement?.querySelector("code");
      if (code) getSelection()?.selectAllChildren(code);
      outcome.value = "Selected";
    }
  };
  return (
    <button type="button" class="copy" aria-label={`Copy ${text}`} onClick={(event) => void copy(event.currentTarget)}>
      <span aria-live="polite">{outcome.value}</span>
    </button>
  );
}
