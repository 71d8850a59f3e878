import torch

from pipeline.frontends.moshi.sampling import Draw, Sampler

CARD = 40
CPU = torch.device("cpu")


def logits(slots: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(slots, CARD, generator=torch.Generator().manual_seed(seed))


def run(sampler: Sampler, slots: int, steps: int, stream: int = 1) -> torch.Tensor:
    """What is drawn from the same logits in every step: [steps, slots]."""
    drawn = []
    for _ in range(steps):
        drawn.append(sampler.draw(logits(1).expand(slots, -1), stream))
        sampler.advance(torch.ones(slots, dtype=torch.bool))
    return torch.stack(drawn)


def sampler(*draws: tuple[Draw, int]) -> Sampler:
    made = Sampler(len(draws), CPU)
    for slot, (draw, seed) in enumerate(draws):
        made.reset(slot, draw, draw, seed)
    return made


def test_a_seed_draws_the_same_alone_and_beside_others() -> None:
    draw = Draw(1.0, CARD)
    alone = run(sampler((draw, 7)), 1, 50)[:, 0]
    beside = run(sampler((draw, 1), (Draw(0.3, 4), 2), (draw, 7)), 3, 50)
    assert beside[:, 2].tolist() == alone.tolist()
    assert beside[:, 0].tolist() != alone.tolist()


def test_streams_and_steps_draw_independently() -> None:
    draw = Draw(1.0, CARD)
    of_stream = [run(sampler((draw, 7)), 1, 60, stream)[:, 0].tolist() for stream in range(4)]
    assert len({tuple(drawn) for drawn in of_stream}) == 4
    assert all(len(set(drawn)) > 8 for drawn in of_stream)


def test_a_slot_that_is_left_out_draws_what_it_would_have_drawn() -> None:
    draw = Draw(1.0, CARD)
    both = sampler((draw, 5), (draw, 5))
    first = both.draw(logits(2), 1)
    both.advance(torch.tensor([True, False]))
    both.draw(logits(2), 1)
    both.advance(torch.tensor([True, False]))
    same = logits(1).expand(2, -1)
    expected = sampler((draw, 5)).draw(same[:1], 1)
    assert both.draw(same, 1)[1] == expected[0]
    assert first.shape == (2,)


def test_temperature_0_takes_the_likeliest() -> None:
    rows = logits(2)
    assert sampler((Draw(0.0, 9), 1), (Draw(0.0, 1), 2)).draw(rows, 0).equal(rows.argmax(-1))


def test_each_slot_has_its_own_top_k() -> None:
    drawn = run(sampler((Draw(5.0, 3), 1), (Draw(5.0, CARD), 2)), 2, 400)
    likeliest = logits(1)[0].topk(3).indices.tolist()
    assert set(drawn[:, 0].tolist()) == set(likeliest)
    assert len(set(drawn[:, 1].tolist())) > 30


def test_draws_follow_the_softmax_of_the_logits() -> None:
    temperature, seeds, steps = 0.8, 1000, 30
    draw = Draw(temperature, CARD)
    drawn = run(sampler(*((draw, seed) for seed in range(seeds))), seeds, steps).flatten()
    share = torch.bincount(drawn, minlength=CARD) / len(drawn)
    wanted = torch.softmax(logits(1)[0] / temperature, -1)
    # Five standard deviations of a count, token by token.
    assert ((share - wanted).abs() < 5 * (wanted / len(drawn)).sqrt() + 1e-4).all()


def test_the_text_has_a_temperature_of_its_own() -> None:
    made = Sampler(1, CPU)
    made.reset(0, Draw(0.0, 1), Draw(1.0, CARD), 1)
    assert len(set(run(made, 1, 40, stream=0)[:, 0].tolist())) == 1
    assert len(set(run(made, 1, 40, stream=1)[:, 0].tolist())) > 5
