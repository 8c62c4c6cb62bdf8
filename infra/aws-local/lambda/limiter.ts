/** Runs at most so many works at the same time; the others wait for their turn. */
export function openLimiter(max: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const queue: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    // A work that ends passes its turn on, so a later work cannot be faster.
    if (running < max) running += 1;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
