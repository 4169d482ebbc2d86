/** Calls `bark` when it was not touched for so long; 0 never. */
export interface Watchdog {
  touch: () => void;
  end: () => void;
}

export function watchdog(milliseconds: number, bark: () => void): Watchdog {
  let timer: NodeJS.Timeout | undefined;
  const end = () => clearTimeout(timer);
  const touch = () => {
    end();
    if (milliseconds > 0) timer = setTimeout(bark, milliseconds);
  };
  touch();
  return { touch, end };
}

/** The same body, which touches the watchdog with every chunk. */
export function watched(
  body: Response['body'],
  watch: Watchdog,
  onActivity: (() => void) | undefined
): Response['body'] {
  if (!body) {
    watch.end();
    return body;
  }
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        watch.touch();
        onActivity?.();
        if (!done) return controller.enqueue(value);
        watch.end();
        controller.close();
      } catch (error) {
        watch.end();
        controller.error(error);
      }
    },
    async cancel(reason) {
      watch.end();
      await reader.cancel(reason);
    }
  });
}

/** As much of a body as is wanted; nobody waits for the rest. */
export async function beginningOf(
  body: Response['body'],
  chars: number
): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length >= chars) return text.slice(0, chars);
  }
  return text + decoder.decode();
}
