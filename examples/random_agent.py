"""Twenty episodes of an agent that draws at random, and the best schedule that they found.

python examples/random_agent.py
"""

import gymnasium

EPISODES = 20


def main() -> None:
    env = gymnasium.make("polygym:polygym/Schedule-v0", kernel="mvt", dataset="small")
    env.action_space.seed(0)
    best, schedule = 0.0, ""
    _, info = env.reset(seed=0)
    for episode in range(EPISODES):
        over = False
        while not over:
            action = env.action_space.sample(info["action_mask"])
            _, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        print(f"episode {episode}: {info['status']}, {info['speedup']:.2f} times as fast")
        if info["speedup"] > best:
            best, schedule = info["speedup"], info["schedule"]
        _, info = env.reset()
    print(f"the best, {best:.2f} times as fast as LLVM -O3 of the source: {schedule}")
    env.close()


if __name__ == "__main__":
    main()
