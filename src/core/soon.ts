/**
 * What a promise gives, or something else when that takes longer: who asks
 * about many wants an answer, and the work goes on.
 */
export async function soon<T>(
  work: Promise<T>,
  patienceMs: number,
  meanwhile: T
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(meanwhile), patienceMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
