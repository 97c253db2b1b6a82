"""Models of HuggingFace and PEFT with random weights: clipped sums equal those of rows alone, in batches of any size."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import hush
from hush.learning import PrivateGradient, fit
from hush.learning.per_example.batch import row_losses, rows
from hush.learning.per_example.clipped_sum import CheckedModel
from hush.learning.per_example.clipping import Flat
from tests.learning.models import distance

os.environ["HF_HUB_OFFLINE"] = "1"
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import peft
    import transformers as hf

COUNT, LENGTH, WORDS = 16, 6, 50
SIZES: dict[str, Any] = {
    "vocab_size": WORDS,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
}


def llama() -> nn.Module:
    return hf.LlamaForCausalLM(hf.LlamaConfig(**SIZES, num_key_value_heads=1, use_cache=False))


def adapted(settings: Any) -> nn.Module:
    model = peft.get_peft_model(llama(), settings)
    for name, p in model.named_parameters():
        if "lora_B" in name:  # it begins at zero, and would hide the gradient of the other factor
            nn.init.normal_(p, std=0.1)
    return model


def lora(**options: Any) -> nn.Module:
    return adapted(peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], **options))


def ia3() -> nn.Module:
    return adapted(peft.IA3Config(target_modules=["k_proj", "v_proj", "down_proj"], feedforward_modules=["down_proj"]))


def gpt2() -> nn.Module:
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    return hf.GPT2LMHeadModel(
        hf.GPT2Config(vocab_size=WORDS, n_embd=16, n_layer=2, n_head=2, n_positions=20, use_cache=False, **ends)
    )


def t5() -> nn.Module:
    sizes: dict[str, Any] = {"vocab_size": WORDS, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2}
    return hf.T5ForConditionalGeneration(hf.T5Config(**sizes, use_cache=False, decoder_start_token_id=0))


def vit() -> nn.Module:
    picture = {key: SIZES[key] for key in ("hidden_size", "num_hidden_layers", "num_attention_heads")}
    return hf.ViTForImageClassification(hf.ViTConfig(**picture, intermediate_size=24, image_size=8, patch_size=4))


def distilbert() -> nn.Module:
    sizes: dict[str, Any] = {"vocab_size": WORDS, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24}
    return hf.DistilBertForSequenceClassification(hf.DistilBertConfig(**sizes, max_position_embeddings=20))


def tokens() -> Tensor:
    return torch.randint(2, WORDS, (COUNT, LENGTH))


def sentences() -> dict[str, Tensor]:
    mask = torch.ones(COUNT, LENGTH, dtype=torch.long)
    mask[::2, 4:] = 0
    return {"input_ids": tokens(), "attention_mask": mask, "labels": torch.randint(0, 2, (COUNT,))}


def pictures() -> dict[str, Tensor]:
    return {"pixel_values": torch.randn(COUNT, 3, 8, 8), "labels": torch.randint(0, 2, (COUNT,))}


def text() -> dict[str, Tensor]:
    found = tokens()
    return {"input_ids": found, "labels": found}


def pairs() -> dict[str, Tensor]:
    return {"input_ids": tokens(), "decoder_input_ids": (found := tokens()), "labels": found}


def of_class(out: Any, row: dict[str, Tensor]) -> Tensor:
    return F.cross_entropy(out.logits, row["labels"], reduction="none")


def of_next_word(out: Any, row: dict[str, Tensor]) -> Tensor:
    return F.cross_entropy(out.logits[:, :-1].mT, row["labels"][:, 1:], reduction="none")


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], dict[str, Tensor]], Any, bool]] = {
    "GPT-2, tied": (gpt2, text, of_next_word, True),
    "Llama": (llama, text, of_next_word, True),
    "BERT": (lambda: hf.BertForSequenceClassification(hf.BertConfig(**SIZES)), sentences, of_class, True),
    "RoBERTa": (
        lambda: hf.RobertaForSequenceClassification(hf.RobertaConfig(**SIZES, pad_token_id=1)),
        sentences,
        of_class,
        True,
    ),
    "DistilBERT": (distilbert, sentences, of_class, True),
    "ViT": (vit, pictures, of_class, False),
    "T5": (t5, pairs, of_next_word, False),
    "LoRA": (lora, text, of_next_word, True),
    "DoRA": (lambda: lora(use_dora=True), text, of_next_word, False),
    "IA3": (ia3, text, of_next_word, False),
}
"""Model, data, loss, and whether all its layers have rules."""


def made(name: str, kind: torch.dtype = torch.float32) -> tuple[nn.Module, dict[str, Tensor], Any]:
    torch.manual_seed(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, data, loss, _ = MODELS[name]
        built = model().to(kind).eval()
    batch = {key: value.to(kind) if value.is_floating_point() else value for key, value in data().items()}
    return built, batch, loss


@pytest.mark.parametrize(("kind", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@pytest.mark.parametrize("name", MODELS)
def test_sums_are_those_of_rows_alone(name: str, kind: torch.dtype, tolerance: float) -> None:
    model, batch, loss = made(name, kind)
    checked = CheckedModel.of(model, loss, batch)
    assert bool(checked.way.without_rule) != MODELS[name][3], checked.way.explain()
    assert not checked.slow
    parameters = {key: p for key, p in model.named_parameters() if p.requires_grad}
    total = {key: torch.zeros_like(p) for key, p in parameters.items()}
    for row in range(COUNT):
        value = row_losses(model, loss, rows(batch, row, row + 1), 1).sum()
        found = torch.autograd.grad(value, list(parameters.values()), allow_unused=True, materialize_grads=True)
        norm = float(torch.cat([part.flatten() for part in found]).norm())
        for key, part in zip(parameters, found, strict=True):
            total[key] += part * min(1.0, 0.5 / norm)
        if row + 1 in (1, 2, 7, COUNT):
            _, sums = checked.room()
            checked.add_clipped(sums, rows(batch, 0, row + 1), 0.5, Flat())
            assert distance(sums, total) < tolerance, row


PLAN = hush.train_plan(examples=COUNT, batch_size=4, epochs=1, noise_multiplier=1.0, delta=1e-3)


@pytest.mark.parametrize("name", ["BERT", "LoRA"])
def test_a_mapping_trains_in_train_mode(name: str) -> None:
    model, batch, loss = made(name)
    model.train()
    before = [p.detach().clone() for p in model.parameters() if p.requires_grad]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(model, batch, PLAN, loss=loss, max_norm=1.0)
    after = [p for p in model.parameters() if p.requires_grad]
    assert all(not torch.equal(old, new) for old, new in zip(before, after, strict=True))


def test_the_models_own_loss_is_told_what_to_write() -> None:
    model, batch, _ = made("BERT")
    for loss in (lambda out, row: out.loss, lambda out, row: of_class(out, row).mean()):
        with pytest.raises(hush.InvalidParameter, match=r"F\.cross_entropy\(out\.logits, row\['labels'\], reduction"):
            fit(model, batch, PLAN, loss=loss, max_norm=1.0)


def test_the_way_is_told() -> None:
    model, batch, loss = made("T5")
    gradient = PrivateGradient(model, loss, PLAN, max_norm=1.0)
    assert gradient.way is None
    next(gradient.batches(batch))
    assert gradient.way is not None and "copy of its parameters" in str(gradient.way)
    assert "not layer by layer" in gradient.way.explain()
