import { useEffect, useRef, useState } from 'preact/hooks';
import { get } from '../session.mjs';

/** Two loads of the same screen are at least so far apart. */
const pauseMs = 1500;

/**
 * Loads data of a screen, and again when `stamp` changes. Old data stays until
 * the new is there.
 */
export function useData(path, stamp) {
  const [found, setFound] = useState({ path: '', data: undefined });
  const [error, setError] = useState(undefined);
  const isOther = found.path !== path;
  useEffect(() => {
    let isWanted = true;
    const load = () =>
      get(path).then(
        (data) => {
          if (!isWanted) return;
          setFound({ path, data, at: Date.now() });
          setError(undefined);
        },
        (problem) => isWanted && setError(problem)
      );
    const sinceMs = Date.now() - (found.at ?? 0);
    const waitMs = isOther ? 0 : Math.max(0, pauseMs - sinceMs);
    const timer = setTimeout(load, waitMs);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [path, stamp]);
  return isOther ? { error } : { data: found.data, error };
}

/**
 * One call at a time: a second click meanwhile does nothing.
 * @returns whether a call is under way, and the function that makes one
 */
export function useBusy() {
  const [isBusy, setBusy] = useState(false);
  // A second click may come before the button is drawn as disabled.
  const isUnderWay = useRef(false);
  const run = async (work) => {
    if (isUnderWay.current) return;
    isUnderWay.current = true;
    setBusy(true);
    try {
      await work();
    } finally {
      isUnderWay.current = false;
      setBusy(false);
    }
  };
  return [isBusy, run];
}
