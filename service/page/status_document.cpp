#include "service/page/status_document.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace pace::page {

namespace {

using Json = nlohmann::json;

// The objects and lists that hold the wanted fields.
enum class Inside { nothing, document, jobs, job, run, workers, worker };

std::optional<double> median(std::vector<double>& values) {
    if (values.empty()) return std::nullopt;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// The parser calls this with one token after another. A document has a hundred times more than the
// wanted fields. The rest is passed over.
class Reader {
  public:
    Samples take() { return std::move(samples_); }

    bool start_object(size_t) {
        if (passing_ > 0) return ++passing_, true;
        switch (inside_) {
            case Inside::nothing:
                return enter(Inside::document);
            case Inside::jobs:
                samples_.jobs.emplace_back();
                losses_.clear();
                return enter(Inside::job);
            case Inside::job:
                return key_ == "run" ? enter(Inside::run) : pass();
            case Inside::workers:
                worker_ = {};
                loss_.reset();
                return enter(Inside::worker);
            default:
                return pass();
        }
    }
    bool start_array(size_t) {
        if (passing_ > 0) return ++passing_, true;
        if (inside_ == Inside::document && key_ == "jobs") return enter(Inside::jobs);
        if (inside_ == Inside::job && key_ == "workers") return enter(Inside::workers);
        return pass();
    }
    bool end_object() { return leave(); }
    bool end_array() { return leave(); }

    bool key(std::string& name) {
        if (passing_ == 0) key_.swap(name);
        return true;
    }
    bool string(std::string& text) {
        if (passing_ > 0) return true;
        if (inside_ == Inside::job && key_ == "name") samples_.jobs.back().name = text;
        if (inside_ == Inside::worker && key_ == "status") {
            worker_.is_present = text != "left" && text != "lost";
            worker_.is_active = text == "active";
        }
        return true;
    }
    bool number_unsigned(uint64_t number) {
        if (passing_ > 0) return true;
        if (inside_ == Inside::document && key_ == "clock_us")
            samples_.clock_us = static_cast<int64_t>(number);
        if (inside_ == Inside::run && key_ == "began_ns") samples_.jobs.back().began_ns = number;
        if (inside_ == Inside::worker) {
            if (key_ == "rank") worker_.rank = static_cast<uint32_t>(number);
            // If models are averaged, workers count iterations. Otherwise they count rounds.
            if (key_ == "iteration" || key_ == "rounds_submitted")
                worker_.steps = std::max(worker_.steps, number);
        }
        return number_float(static_cast<double>(number), {});
    }
    bool number_integer(int64_t number) { return number_float(static_cast<double>(number), {}); }
    bool number_float(double number, const std::string&) {
        if (passing_ == 0 && inside_ == Inside::worker && key_ == "loss" && std::isfinite(number))
            loss_ = number;
        return true;
    }
    bool null() { return true; }
    bool boolean(bool) { return true; }
    bool binary(std::vector<uint8_t>&) { return true; }
    bool parse_error(size_t, const std::string&, const Json::exception&) { return false; }

  private:
    bool enter(Inside what) {
        outer_.push_back(inside_);
        inside_ = what;
        return true;
    }
    bool pass() {
        passing_ = 1;
        return true;
    }
    bool leave() {
        if (passing_ > 0) {
            --passing_;
            return true;
        }
        if (inside_ == Inside::worker) {
            samples_.jobs.back().workers.push_back(worker_);
            if (loss_ && worker_.is_present) losses_.push_back(*loss_);
        }
        if (inside_ == Inside::job) samples_.jobs.back().loss = median(losses_);
        inside_ = outer_.back();
        outer_.pop_back();
        return true;
    }

    Samples samples_;
    Inside inside_ = Inside::nothing;
    std::vector<Inside> outer_;
    size_t passing_ = 0;  // the depth within a value that is passed over
    std::string key_;     // the last key of the present object
    WorkerSteps worker_;
    std::optional<double> loss_;
    std::vector<double> losses_;  // of the present job
};

}  // namespace

Samples samples_of(std::string_view document) {
    Reader reader;
    if (!Json::sax_parse(document, &reader)) return {};
    return reader.take();
}

}  // namespace pace::page
